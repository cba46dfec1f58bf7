"""A full disk, a file that cannot be written or read, a database that stays locked: said at once, and clearly."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from glados.conversations import SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.core.errors import GladosError
from glados.core.messages import user_message
from glados.core.sessions import Draft
from glados.core.testing import AppFactory
from glados.database import DatabaseBusy, DatabasePlugin, DatabaseUnavailable
from glados.database.testing import open_database

HELLO = Draft("message", user_message("hello"))


async def driven(driver: str, *arguments: str) -> str:
    """Run a driver to its end; what it said."""
    command = [sys.executable, str(Path(__file__).with_name(driver)), *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


class Place:
    """A SQLite file, and stores on it one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self._stack = AsyncExitStack()

    async def open(self, **settings: Any) -> SqlSessionStore:
        await self._stack.aclose()
        opening = open_database(self.url, ConversationsPlugin, **settings)
        return SqlSessionStore(await self._stack.enter_async_context(opening))

    async def close(self) -> None:
        await self._stack.aclose()


@pytest.fixture
async def place(anyio_backend: Any, tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path / "test.sqlite3")
    yield place
    await place.close()


async def test_on_a_full_disk_the_append_fails_and_what_was_acknowledged_is_there(place: Place) -> None:
    session = await (await place.open()).create()
    await place.close()
    told = await driven("full_disk_driver.py", place.url, session.id, str(400_000))
    *acknowledged, error = told.splitlines()
    assert error.startswith("error database_unavailable The database file")
    assert acknowledged
    store = await place.open()
    entries = await store.entries(session.id)
    assert [f"{entry.seq} {entry.id}" for entry in entries] == acknowledged
    assert (await store.get(session.id)).seq == len(acknowledged)


async def test_a_database_that_may_not_grow_refuses_one_append_and_takes_the_next_that_fits(place: Place) -> None:
    store = await place.open()
    session = await store.create()

    def limited(connection: Any) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")

    await store._database.commit(limited)
    with pytest.raises(DatabaseUnavailable, match="full"):
        await store.append(session.id, [HELLO, Draft("message", user_message("x" * 200_000))])
    assert (await store.get(session.id)).seq == 0
    await store.append(session.id, [HELLO])
    assert [entry.seq for entry in await store.entries(session.id)] == [1]


async def test_a_file_that_becomes_read_only_is_named(place: Place) -> None:
    store = await place.open()
    session = await store.create()
    await store.append(session.id, [HELLO])

    def read_only(connection: Any) -> None:
        connection.execute("PRAGMA query_only = ON")

    await store._database.commit(read_only)
    with pytest.raises(GladosError) as caught:
        await store.append(session.id, [HELLO])
    assert caught.value.code == "database_unavailable"
    assert len(await store.entries(session.id)) == 1


async def test_a_file_or_folder_that_cannot_be_written_stops_the_start_of_the_store(place: Place) -> None:
    session = await (await place.open()).create()
    await place.close()

    async def opened() -> str:
        return await driven("read_only_driver.py", place.url)

    place.path.chmod(0o400)
    assert (await opened()).startswith(f"database_unavailable The database file '{place.path}' cannot be written:")
    place.path.chmod(0o600)
    place.path.parent.chmod(0o500)
    assert (await opened()).startswith(f"database_unavailable The folder '{place.path.parent}' cannot be written")
    place.path.parent.chmod(0o700)
    assert await opened() == "opened\n"
    assert (await (await place.open()).get(session.id)) == session


async def test_a_broken_file_is_named_and_nothing_hangs(place: Place) -> None:
    store = await place.open()
    session = await store.create()
    await store.append(session.id, [Draft("message", user_message("x" * 3000))] * 200)
    await place.close()
    with place.path.open("r+b") as file:
        pages = place.path.stat().st_size // 4096
        for page in range(pages // 2, pages):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    store = await place.open()
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        await store.entries(session.id)
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        await store.append(session.id, [HELLO])


async def test_a_file_that_is_no_database_leaves_sessions_in_memory(glados_app: AppFactory, tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite3"
    path.write_text("This is no database. " * 1000)
    settings = {"database": {"url": f"sqlite:///{path}"}, "plugins": {"strict": False}}
    app = await glados_app(plugins=[DatabasePlugin, ConversationsPlugin], settings=settings)
    states = {record.id: (record.state, record.reason or "") for record in app.plugins}
    assert states["conversations"][0] == states["database"][0] == "failed"
    assert "not a SQLite database" in states["database"][1]
    assert (await app.create_session()).seq == 0


async def test_a_database_that_stays_locked_is_busy_and_works_again_afterwards(place: Place) -> None:
    store = await place.open(busy_timeout=0.1)
    session = await store.create()
    other = sqlite3.connect(place.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseBusy):
        await store.append(session.id, [HELLO])
    assert list(await store.entries(session.id)) == []  # who reads does not wait
    other.execute("ROLLBACK")
    other.close()
    await store.append(session.id, [HELLO])
    assert [entry.seq for entry in await store.entries(session.id)] == [1]
