"""Rules that answers made: they hold at once, are kept, and are read anew."""

from __future__ import annotations

import asyncio

import pytest

from glados.core import Rule, RuleNotFound, StoredRule
from glados.core.rule_book import RuleBook
from glados.core.rule_store import MemoryRuleStore

ALLOW = Rule("allow", "toys.write", {"name": "ann"}, "session", exact=True)
DENY = Rule("deny", "toys.write", {"name": "bob"}, "session", exact=True)


def stored(id: str, rule: Rule = ALLOW, session_id: str | None = "s") -> StoredRule:
    return StoredRule(id, rule, "ann", "2026-01-01T00:00:00+00:00", session_id)


def book_on(store: MemoryRuleStore) -> RuleBook:
    return RuleBook(lambda: store)


async def test_a_rule_of_a_session_is_there_in_the_next_process_and_in_no_other_session() -> None:
    store = MemoryRuleStore()
    first = book_on(store)
    first.hold(stored("1"))
    await first.keep(stored("1"))
    second = book_on(store)
    await second.read("s")
    await second.read("t")

    assert (second.of_session("s"), second.of_session("t"), second.for_good) == ((ALLOW,), (), ())


async def test_what_another_process_took_back_no_longer_holds_once_it_is_read_anew() -> None:
    store = MemoryRuleStore()
    await store.add(stored("1", session_id=None))
    await store.add(stored("2", DENY))
    here, there = book_on(store), book_on(store)
    await here.read("s")
    await there.take_back("1")
    await there.take_back("2")

    assert (here.for_good, here.of_session("s")) == ((ALLOW,), (DENY,))
    assert await here.read("s") == []
    assert (here.for_good, here.of_session("s")) == ((), ())


async def test_a_rule_that_is_being_kept_is_not_lost_by_whoever_reads_meanwhile() -> None:
    class Slow(MemoryRuleStore):
        go = asyncio.Event()

        async def add(self, stored: StoredRule) -> None:
            await self.go.wait()
            await super().add(stored)

    store = Slow()
    book = book_on(store)
    book.hold(stored("1"))
    await book.read("s")
    held_before = book.of_session("s")
    keeping, reading = asyncio.create_task(book.keep(stored("1"))), asyncio.create_task(book.read("s"))
    store.go.set()
    await asyncio.gather(keeping, reading)

    assert (held_before, book.of_session("s"), await book.read("s")) == ((ALLOW,), (ALLOW,), [stored("1")])


async def test_a_rule_taken_back_goes_with_those_of_sessions_that_say_the_same() -> None:
    store = MemoryRuleStore()
    for each in (stored("1", session_id=None), stored("2"), stored("3", DENY)):
        await store.add(each)
    book = book_on(store)
    await book.read("s")
    await book.take_back("1")

    assert (book.for_good, book.of_session("s")) == ((), (DENY,))
    assert await store.load("s") == [stored("3", DENY)]
    with pytest.raises(RuleNotFound, match="no rule '1'"):
        await book.take_back("1")


async def test_the_same_rule_twice_is_one() -> None:
    book = book_on(MemoryRuleStore())

    assert [book.hold(stored("1")), book.hold(stored("2"))] == [True, False]


async def test_the_rules_of_a_session_that_is_gone_are_gone() -> None:
    store = MemoryRuleStore()
    await store.add(stored("1"))
    await store.add(stored("2", DENY, "t"))
    book = book_on(store)
    await book.read("s")
    book.hold(stored("3", DENY))
    await book.forget_session("s")

    assert (await book.read("s"), await store.load("t")) == ([], [stored("2", DENY, "t")])
