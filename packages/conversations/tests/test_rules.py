from __future__ import annotations

import json
from pathlib import Path

import pytest

from glados.conversations import SqlRuleStore, SqlSessionStore
from glados.core.errors import ConfigurationError
from glados.core.rule_file import FileRuleStore
from glados.core.rule_store import MemoryRuleStore, RuleStore, StoredRule
from glados.core.rules import Rule
from glados.database import DatabaseService

RULE = Rule("allow", "web-fetch.fetch", {"url": "https://ä.test/?a\0b"}, exact=True)


def rule(id: str, session_id: str | None = None, rule: Rule = RULE) -> StoredRule:
    return StoredRule(id, rule, "ann", f"2026-05-04T00:00:0{id}", session_id)


async def test_rules_come_back_as_they_were_the_oldest_first(database: DatabaseService) -> None:
    given = [rule("2"), rule("1", rule=Rule.parse("dice.*(sides=6) even_if_tainted", "allow", "project"))]
    for stored in given:
        await SqlRuleStore(database).add(stored)
    assert await SqlRuleStore(database).load() == given


async def test_it_does_what_the_store_in_memory_does(database: DatabaseService) -> None:
    async def story(store: RuleStore) -> list[object]:
        for stored in (rule("1"), rule("2", "s"), rule("3", "t"), rule("4", "s")):
            await store.add(stored)
        told: list[object] = [await store.load(), await store.load("s"), await store.load("u\0")]
        told += [await store.remove("2"), await store.remove("2"), await store.remove("\0"), await store.load("s")]
        await store.forget_session("s")
        return [*told, await store.load("s"), await store.load("t")]

    assert await story(SqlRuleStore(database)) == await story(MemoryRuleStore())


async def test_the_rules_of_a_session_go_with_it(database: DatabaseService, store: SqlSessionStore) -> None:
    root = await store.create()
    child = await store.create(parent_id=root.id)
    rules = SqlRuleStore(database)
    await rules.add(rule("1", root.id))
    await rules.add(rule("2", child.id))
    await rules.add(rule("3"))
    await store.delete(root.id)
    assert [stored.id for id in (root.id, child.id) for stored in await rules.load(id)] == ["3", "3"]


async def test_the_rules_of_the_file_are_taken_over_once(database: DatabaseService, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    await FileRuleStore(path).add(rule("1"))
    rules = SqlRuleStore(database)
    await rules.take_over(path)
    assert await rules.load() == [rule("1")]
    await rules.remove("1")
    await rules.take_over(path)
    assert await rules.load() == []
    assert [item["id"] for item in json.loads((tmp_path / "rules.taken.json").read_text())] == ["1"]


async def test_a_file_that_holds_no_rules_stays_where_it_is(database: DatabaseService, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text("{")
    with pytest.raises(ConfigurationError, match="does not hold rules"):
        await SqlRuleStore(database).take_over(path)
    assert path.exists()
