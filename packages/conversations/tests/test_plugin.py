from __future__ import annotations

from pathlib import Path

from glados.conversations import SqlArtifactStore, SqlRuleStore, SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.core import ArtifactStore, MemorySessionStore, RuleStore, StoredRule
from glados.core.rule_file import FileRuleStore
from glados.core.rules import Rule
from glados.core.testing import AppFactory, ScriptedModel
from glados.database import DatabasePlugin

PLUGINS = (DatabasePlugin, ConversationsPlugin)


async def test_sessions_outlast_the_app(glados_app: AppFactory, database_url: str) -> None:
    settings = {"database": {"url": database_url}}
    first = await glados_app(plugins=PLUGINS, settings=settings, model=ScriptedModel("Hello."))
    assert isinstance(first.sessions, SqlSessionStore)
    assert isinstance(first.services.get(RuleStore), SqlRuleStore)
    assert isinstance(first.services.get(ArtifactStore), SqlArtifactStore)
    result = await first.run("Hi")
    entries = await first.sessions.entries(result.session_id)
    await glados_app.close()

    model = ScriptedModel("Again.")
    second = await glados_app(plugins=PLUGINS, settings=settings, model=model)
    assert list(await second.sessions.entries(result.session_id)) == list(entries)
    await second.run("And now?", session=result.session_id)
    assert [message.text for message in model.requests[0].messages] == ["Hi", "Hello.", "And now?"]
    assert [found.seq for found in await second.sessions.search("hello")] == [2]


async def test_without_the_plugin_sessions_are_kept_in_memory(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=PLUGINS, settings={"conversations": {"enabled": False}})
    assert isinstance(app.sessions, MemorySessionStore)


async def test_rules_of_the_data_directory_are_taken_over(
    glados_app: AppFactory, tmp_path: Path, database_url: str
) -> None:
    data_dir = tmp_path / "glados-data"
    data_dir.mkdir()
    stored = StoredRule("1", Rule("allow", "dice.roll", exact=True), "ann", "2026-05-04")
    await FileRuleStore(data_dir / "rules.json").add(stored)
    app = await glados_app(plugins=PLUGINS, settings={"database": {"url": database_url}})
    assert await app.services.get(RuleStore).load() == [stored]
    assert not (data_dir / "rules.json").exists()
