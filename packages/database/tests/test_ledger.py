from __future__ import annotations

import sqlite3
from threading import Event
from typing import Any

import pytest

from glados.database import ForeignDatabase, UnknownMigrations

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "ALTER TABLE notes_items ADD COLUMN body VARCHAR(255);",
    "2026-03-01-more.rollback.sql": "ALTER TABLE notes_items DROP COLUMN body;",
}


def test_a_database_that_is_newer_than_the_code_fails_that_plugin_alone(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    store.apply(notes)
    (notes.migrations_path() / "2026-03-01-more.sql").unlink()
    (notes.migrations_path() / "2026-03-01-more.rollback.sql").unlink()
    for check in (False, True):
        with pytest.raises(UnknownMigrations, match=r"notes\.2026-03-01-more"):
            store.apply(notes, check=check)
    store.apply(make_plugin("other", {"2026-01-01-init.sql": "CREATE TABLE other_a (x INTEGER);"}))


def test_marks_of_absent_plugins_are_left_alone(store: Any, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    store.apply(make_plugin("other", {"2026-01-01-init.sql": "CREATE TABLE other_a (x INTEGER);"}))
    assert store.marks() == ("notes.2026-02-18-init", "other.2026-01-01-init")
    assert store.migrations.ledger().sections() == ("notes", "other")


def test_the_database_of_somebody_else_is_not_touched(store: Any, make_plugin: Any) -> None:
    if store.url.kind == "sqlite":
        sqlite3.connect(store.url.path).close()
        store.url.path.touch()
    store.run("CREATE TABLE theirs (x INTEGER)")
    before = store.url.path.read_bytes() if store.url.kind == "sqlite" else b""
    for attempt in (
        lambda: store.apply(make_plugin("notes", INIT)),
        lambda: store.migrations.prepare(Event()),
        store.migrations.ledger,
        lambda: store.rollback(make_plugin("notes", INIT), "notes.2026-02-18-init"),
    ):
        with pytest.raises(ForeignDatabase, match="theirs"):
            attempt()
    if store.url.kind == "sqlite":
        assert store.url.path.read_bytes() == before
    assert store.tables() == {"theirs"}


def test_a_database_that_somebody_else_keeps_with_yoyo_is_foreign(store: Any, make_plugin: Any) -> None:
    if store.url.kind == "sqlite":
        store.url.path.touch()
    store.run("CREATE TABLE _yoyo_migration (migration_hash VARCHAR(64), migration_id VARCHAR(255))")
    with pytest.raises(ForeignDatabase):
        store.apply(make_plugin("notes", INIT))


def test_tables_beside_ours_are_no_reason_to_refuse(store: Any, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    store.run("CREATE TABLE theirs (x INTEGER)")
    store.apply(make_plugin("notes", MORE))
    assert store.tables() == {"notes_items", "theirs"}
