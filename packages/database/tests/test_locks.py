from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from glados.database import MigrationError
from glados.database.connections import connect
from glados.database.locks import file_lock, server_lock
from glados.database.migrator import SqlMigrator

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "ALTER TABLE notes_items ADD COLUMN body VARCHAR(255);",
    "2026-03-01-more.rollback.sql": "ALTER TABLE notes_items DROP COLUMN body;",
}


def test_who_waits_too_long_for_another_process_is_told(make_store: Any, database_url: str, make_plugin: Any) -> None:
    store = make_store(database_url, migrate_timeout=0.1)
    holder = make_store(database_url)
    notes = make_plugin("notes", INIT)
    if store.url.kind == "sqlite":
        with file_lock(holder.url.path, 1, Event()), pytest.raises(MigrationError, match="Another process"):
            store.apply(notes)
    else:
        with (
            connect(holder.url, holder.settings) as connection,
            server_lock(connection, 1, Event()),
            pytest.raises(MigrationError, match="Another process"),
        ):
            store.apply(notes)
    assert store.apply(notes)


async def test_a_cancelled_start_stops_waiting_for_the_lock(make_store: Any, tmp_path: Path, make_plugin: Any) -> None:
    store = make_store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    with file_lock(store.url.path, 1, Event()):
        task = asyncio.create_task(SqlMigrator(store.url, store.settings).apply(make_plugin("notes", INIT)))
        async with asyncio.timeout(30):
            while not any("asyncio" in thread.name for thread in threading.enumerate()):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert not store.url.path.exists() or store.tables() == set()
