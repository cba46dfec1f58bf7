from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from glados.database import Connection, DatabaseService, ReadOnlySession
from glados.database.testing import open_database

TABLES = "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));"


@pytest.fixture
async def notes(database_url: str, make_plugin: Any) -> AsyncIterator[DatabaseService]:
    async with open_database(
        database_url, make_plugin("notes", {"2026-02-18-init.sql": TABLES}), pool_size=2
    ) as service:
        yield service


def add(id: int) -> Any:
    return lambda connection: connection.execute("INSERT INTO notes_items VALUES (?, ?)", (id, "a")).rowcount


def count(connection: Connection) -> int:
    return connection.execute("SELECT count(*) FROM notes_items").fetchone()[0]


async def test_a_query_cannot_write(notes: DatabaseService) -> None:
    with pytest.raises(ReadOnlySession, match="cannot write"):
        await notes.query(add(1))
    assert await notes.query(count) == 0


async def test_a_query_sees_one_state_and_does_not_wait_for_the_writer(notes: DatabaseService) -> None:
    looked, go = threading.Event(), threading.Event()

    def twice(connection: Connection) -> tuple[int, int]:
        first = count(connection)
        looked.set()
        assert go.wait(30)
        return first, count(connection)

    def slow(connection: Connection) -> None:
        add(2)(connection)
        begun.set()
        assert go.wait(30)

    begun = threading.Event()
    task = asyncio.create_task(notes.query(twice))
    assert await asyncio.to_thread(looked.wait, 30)
    await notes.commit(add(1))
    writing = asyncio.create_task(notes.commit(slow))
    assert await asyncio.to_thread(begun.wait, 30)
    assert await notes.query(count) == 1
    go.set()
    assert await task == (0, 0)
    await writing
    assert await notes.query(count) == 2


async def test_an_error_in_a_query_leaves_the_connection_usable(notes: DatabaseService) -> None:
    def fail(connection: Connection) -> None:
        count(connection)
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await notes.query(fail)
        with pytest.raises(Exception, match="nowhere"):
            await notes.query(lambda connection: connection.execute("SELECT * FROM nowhere"))
    assert await notes.query(count) == 0


async def test_a_cancelled_query_leaves_at_once(notes: DatabaseService) -> None:
    begun, go = threading.Event(), threading.Event()

    def stuck(connection: Connection) -> None:
        begun.set()
        assert go.wait(30)

    task = asyncio.create_task(notes.query(stuck))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await notes.query(count) == 0
    go.set()


async def test_many_queries_share_a_few_threads(notes: DatabaseService) -> None:
    await notes.commit(add(1))
    assert set(await asyncio.gather(*(notes.query(count) for _ in range(200)))) == {1}
    assert sum(thread.name == "glados-queries" for thread in threading.enumerate()) <= 2


async def test_queries_that_take_long_get_as_many_threads_as_there_are_connections(notes: DatabaseService) -> None:
    barrier = threading.Barrier(2)
    await asyncio.gather(*(notes.query(lambda connection: barrier.wait(30)) for _ in range(2)))
    assert await notes.query(count) == 0
