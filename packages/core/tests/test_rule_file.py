"""Rules that outlast the process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from glados.core import ConfigurationError, PermissionDenied, PermissionsSettings, Rule, StoredRule, tool
from glados.core.rule_file import FileRuleStore
from glados.core.testing import AppFactory, plugin_of

RULE = Rule("allow", "toys.change", {"what": "a*"}, "user", exact=True)


@tool("toys.change", open_world=False)
async def change(what: str) -> str:
    """Change something."""
    return f"changed {what}"


async def test_a_rule_is_there_again_and_private(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    stored = StoredRule("a", RULE, "local", "2026-01-01T00:00:00+00:00")
    await FileRuleStore(path).add(stored)

    assert await FileRuleStore(path).load() == [stored]
    assert path.stat().st_mode & 0o777 == 0o600
    assert await FileRuleStore(path).remove(stored.id)
    assert not await FileRuleStore(path).remove("nothing")
    assert await FileRuleStore(path).load() == []


async def test_rules_added_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    await asyncio.gather(*[FileRuleStore(path).add(StoredRule(str(n), RULE, "local", str(n))) for n in range(20)])

    assert sorted(int(stored.created_at) for stored in await FileRuleStore(path).load()) == list(range(20))


@pytest.mark.parametrize("text", ["{", "[1]", '[{"id": "a"}]', '{"a": 1}', "\udcff"])
async def test_a_file_that_holds_no_rules_is_named_and_nothing_starts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(ConfigurationError, match=r"rules\.json"):
        await FileRuleStore(path).load()


async def test_an_answer_for_good_holds_in_the_next_process(glados_app: AppFactory) -> None:
    first = await glados_app(plugins=[plugin_of(change)])
    assert await first.call("toys.change", {"what": "it"}, on_question=lambda _: "always") == {"result": "changed it"}
    second = await glados_app(plugins=[plugin_of(change)])
    assert await second.call("toys.change", {"what": "it"}) == {"result": "changed it"}

    [rule] = await second.permissions.rules()
    await second.permissions.revoke(rule.id)
    third = await glados_app(plugins=[plugin_of(change)])
    with pytest.raises(PermissionDenied):
        await third.call("toys.change", {"what": "it"})
    assert PermissionsSettings().rules() == []
