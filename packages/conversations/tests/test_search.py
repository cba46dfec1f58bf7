from __future__ import annotations

import asyncio
import random
from typing import Any

from glados.conversations import ConversationsSettings, SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.conversations.search_index import INDEXED_CHARACTERS, LONG_ENTRY, missing
from glados.core.conformance.trees import say
from glados.database import DatabaseService
from glados.database.testing import open_database


async def indexed(database: DatabaseService) -> int:
    """How many entries the index knows of."""
    query = "SELECT COALESCE(SUM(indexed), 0) FROM conversations_sessions"
    return int((await database.query(lambda connection: connection.execute(query).fetchone()))[0])


async def test_appends_do_not_touch_the_index_and_a_search_brings_it_up_to_date(
    database: DatabaseService, store: SqlSessionStore
) -> None:
    session = await store.create()
    await say(store, session.id, "cake", "bread")
    assert await indexed(database) == 0
    assert len(await store.search("cake")) == 1
    assert await indexed(database) == 2
    await say(store, session.id, "more cake")
    assert await indexed(database) == 2
    assert len(await store.search("cake")) == 2


async def test_a_message_of_as_many_different_letters_as_are_indexed_is_found(store: SqlSessionStore) -> None:
    chance = random.Random(1)
    letters = "".join(chr(chance.randrange(0x20000, 0x2A6DF)) for _ in range(INDEXED_CHARACTERS))
    session = await store.create()
    await say(store, session.id, letters, "cake")
    assert [found.seq for found in await store.search(letters[70_000:70_010])] == [1]
    assert [found.seq for found in await store.search("cake")] == [2]


async def test_the_index_is_brought_up_to_date_in_bounded_steps(database: DatabaseService) -> None:
    store = SqlSessionStore(database, ConversationsSettings(search_step=5))
    for text in ("cake", "cake", "x" * LONG_ENTRY + " cake"):
        await say(store, (await store.create()).id, *[text] * 4)

    async def steps(step: int) -> list[int]:
        pieces = await database.query(lambda connection: missing(connection, step))
        assert all(piece.until - piece.indexed == len(piece.texts) for piece in pieces)
        return [len(piece.texts) for piece in pieces]

    assert [await steps(step) for step in (3, 5, 9, 100)] == [[3], [4, 1], [4, 4, 1], [4, 4, 4]]
    await say(store, (await store.list())[0].id, *["y" * LONG_ENTRY * 10] * 2)
    await say(store, (await store.create()).id, "cake")
    assert len(await store.search("cake")) == 13
    assert await steps(100) == []


async def test_of_long_entries_fewer_are_added_in_a_step(database: DatabaseService, store: SqlSessionStore) -> None:
    for _ in range(3):
        await say(store, (await store.create()).id, "x" * LONG_ENTRY * 2, "x" * LONG_ENTRY * 2)
    pieces = await database.query(lambda connection: missing(connection, 4))
    assert [len(piece.texts) for piece in pieces] == [2]


async def test_searches_of_two_services_at_once_index_everything_once(
    store: SqlSessionStore, database: DatabaseService, database_url: str
) -> None:
    session = await store.create()
    await say(store, session.id, *[f"cake {number}" for number in range(50)])
    async with open_database(database_url, ConversationsPlugin) as second:
        stores = (store, SqlSessionStore(second))
        found = await asyncio.gather(*(store.search("cake", limit=100) for store in stores for _ in range(5)))
    assert [len(hits) for hits in found] == [50] * 10
    assert await indexed(database) == 50
    await store.delete(session.id)
    assert await store.search("cake") == []


async def test_so_many_candidates_are_looked_at(database: DatabaseService) -> None:
    store = SqlSessionStore(database, ConversationsSettings(search_candidates=2))
    session = await store.create()
    await say(store, session.id, "cake", "cakes", "cakes")
    assert [found.seq for found in await store.search("cake")] == [3, 2]


async def test_short_words_are_looked_for_in_so_many_entries(database: DatabaseService) -> None:
    store = SqlSessionStore(database, ConversationsSettings(search_scan=2))
    session = await store.create()
    await say(store, session.id, "東京", "東京", "x")
    assert [found.seq for found in await store.search("東京")] == [2]


async def test_the_beginning_of_a_very_long_message_is_indexed(store: SqlSessionStore) -> None:
    session = await store.create()
    await say(store, session.id, f"needle {'x' * INDEXED_CHARACTERS} haystack")
    assert len(await store.search("needle")) == 1
    assert await store.search("haystack") == []
    await store.delete(session.id)
    assert await store.search("needle") == []


async def test_nothing_of_a_deleted_session_stays_in_any_table(
    database: DatabaseService, store: SqlSessionStore
) -> None:
    session = await store.create(title="needle", tags=("needle",))
    await say(store, session.id, "needle")
    await store.search("needle")
    await store.delete(session.id)
    tables = ["sessions", "tags", "entries", "costs", "runs", "rules", "artifacts"]
    known = " WHERE conversations_search MATCH 'nee'" if database.kind == "sqlite" else ""

    def counts(connection: Any) -> list[int]:
        sources = [*(f"conversations_{table}" for table in tables), f"conversations_search{known}"]
        return [connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0] for source in sources]

    assert await database.query(counts) == [0] * 8
