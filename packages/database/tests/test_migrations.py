from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glados.database import MigrationError, NoRollback, PendingMigrations
from glados.database.migrator import SqlMigrator

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "ALTER TABLE notes_items ADD COLUMN body VARCHAR(255);",
    "2026-03-01-more.rollback.sql": "ALTER TABLE notes_items DROP COLUMN body;",
}


def test_migrations_are_applied_in_order_and_once(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    assert store.apply(notes) == ("notes.2026-02-18-init", "notes.2026-03-01-more")
    assert store.apply(notes) == ()
    store.run("INSERT INTO notes_items (id, title, body) VALUES (1, 'a', 'b')")
    assert store.marks() == ("notes.2026-02-18-init", "notes.2026-03-01-more")


def test_a_later_version_applies_only_what_is_new(store: Any, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    assert store.apply(make_plugin("notes", MORE)) == ("notes.2026-03-01-more",)


def test_two_plugins_may_have_migrations_of_the_same_name(store: Any, make_plugin: Any) -> None:
    store.apply(make_plugin("first-one", {"2026-02-18-init.sql": "CREATE TABLE first_one_a (x INTEGER);"}))
    store.apply(make_plugin("second", {"2026-02-18-init.sql": "CREATE TABLE second_a (x INTEGER);"}))
    assert store.marks() == ("first_one.2026-02-18-init", "second.2026-02-18-init")
    assert store.tables() == {"first_one_a", "second_a"}


def test_a_migration_that_fails_half_way_leaves_nothing_and_says_where(store: Any, make_plugin: Any) -> None:
    broken = "CREATE TABLE notes_more (x INTEGER);\nINSERT INTO notes_more VALUES (1);\nINSERT INTO nowhere VALUES (1);"
    notes = make_plugin("notes", INIT | {"2026-03-01-broken.sql": broken})
    with pytest.raises(MigrationError) as raised:
        store.apply(notes)
    assert "notes.2026-03-01-broken" in raised.value.message
    assert "2026-03-01-broken.sql" in raised.value.message
    assert "nowhere" in raised.value.message
    assert store.tables() == {"notes_items"}
    assert store.marks() == ("notes.2026-02-18-init",)
    store.apply(make_plugin("notes", {"2026-03-01-broken.sql": "CREATE TABLE notes_more (x INTEGER);"}))
    assert store.tables() == {"notes_items", "notes_more"}


def test_a_failing_plugin_does_not_stop_another(store: Any, make_plugin: Any) -> None:
    with pytest.raises(MigrationError):
        store.apply(make_plugin("broken", {"2026-01-01-init.sql": "CREATE TABEL broken_a (x INTEGER);"}))
    store.apply(make_plugin("notes", INIT))
    assert store.tables() == {"notes_items"}


def test_check_applies_nothing_and_says_what_to_run(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT)
    with pytest.raises(PendingMigrations, match=r"notes\.2026-02-18-init.*glados db migrate notes"):
        store.apply(notes, check=True)
    assert store.url.kind == "postgresql" or not store.url.path.exists()
    store.apply(notes)
    assert store.apply(notes, check=True) == ()


def test_a_rollback_takes_back_the_tables_and_the_mark(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    store.apply(notes)
    store.rollback(notes, "notes.2026-03-01-more")
    assert store.marks() == ("notes.2026-02-18-init",)
    store.rollback(notes, "notes.2026-02-18-init")
    assert store.tables() == set()
    assert store.apply(notes) == ("notes.2026-02-18-init", "notes.2026-03-01-more")


def test_a_rollback_runs_its_statements_in_the_order_of_the_file(store: Any, make_plugin: Any) -> None:
    files = {
        "2026-01-01-init.sql": "CREATE TABLE notes_a (x INTEGER);",
        "2026-01-01-init.rollback.sql": "ALTER TABLE notes_a RENAME TO notes_b;\nDROP TABLE notes_b;\n",
    }
    notes = make_plugin("notes", files)
    store.apply(notes)
    store.rollback(notes, "notes.2026-01-01-init")
    assert store.tables() == set()


def test_a_migration_without_a_rollback_applies_and_cannot_be_taken_back(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | {"2026-03-01-more.sql": "CREATE TABLE notes_more (x INTEGER);"})
    store.apply(notes)
    with pytest.raises(NoRollback, match=r"2026-03-01-more\.rollback\.sql"):
        store.rollback(notes, "notes.2026-03-01-more", "notes.2026-02-18-init")
    assert store.tables() == {"notes_items", "notes_more"}


def test_a_rollback_that_fails_leaves_everything(store: Any, make_plugin: Any) -> None:
    notes = make_plugin(
        "notes", INIT | {"2026-02-18-init.rollback.sql": "DROP TABLE notes_items;\nDROP TABLE nowhere;"}
    )
    store.apply(notes)
    with pytest.raises(MigrationError, match="could not be rolled back"):
        store.rollback(notes, "notes.2026-02-18-init")
    assert store.tables() == {"notes_items"}
    assert store.marks() == ("notes.2026-02-18-init",)


def test_a_plugin_cannot_drop_the_table_of_another(store: Any, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    with pytest.raises(MigrationError, match="notes_items"):
        store.apply(make_plugin("other", {"2026-01-01-init.sql": "DROP TABLE notes_items;"}))
    assert store.tables() == {"notes_items"}


def test_sqlite_rebuilds_a_table_that_others_refer_to(make_store: Any, tmp_path: Path, make_plugin: Any) -> None:
    store = make_store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    family = {
        "2026-01-01-init.sql": """
            CREATE TABLE notes_parents (id INTEGER PRIMARY KEY);
            CREATE TABLE notes_children (parent INTEGER REFERENCES notes_parents (id) ON DELETE CASCADE);
            INSERT INTO notes_parents VALUES (1);
            INSERT INTO notes_children VALUES (1);
        """,
        "2026-01-02-rebuild.sql": """
            CREATE TABLE notes_new (id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO notes_new (id) SELECT id FROM notes_parents;
            DROP TABLE notes_parents;
            ALTER TABLE notes_new RENAME TO notes_parents;
        """,
    }
    store.apply(make_plugin("notes", family))
    assert store.run("SELECT parent FROM notes_children") == [(1,)]
    with pytest.raises(MigrationError, match="refer to rows which are gone"):
        store.apply(make_plugin("notes", {"2026-01-03-orphans.sql": "DELETE FROM notes_parents;"}))
    assert store.run("SELECT id FROM notes_parents") == [(1,)]


async def test_migrations_do_not_block_the_event_loop_and_are_logged(
    store: Any, make_plugin: Any, caplog: pytest.LogCaptureFixture
) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counter = asyncio.create_task(count())
    with caplog.at_level(logging.INFO, "glados.database"):
        await SqlMigrator(store.url, store.settings).apply(make_plugin("notes", INIT))
    counter.cancel()
    assert turns > 10
    assert "Applying migration notes.2026-02-18-init" in caplog.messages


def test_a_start_with_nothing_to_apply_imports_neither_yoyo_nor_sqlalchemy(
    make_store: Any, tmp_path: Path, make_plugin: Any
) -> None:
    url = f"sqlite:///{tmp_path / 'a.sqlite3'}"
    notes = make_plugin("notes", INIT)
    make_store(url).apply(notes)
    code = f"""
import sys
from threading import Event
from glados.core import Plugin
from glados.database import DatabaseSettings
from glados.database.migrations import Migrations
from glados.database.urls import parse_url

class Notes(Plugin):
    id = "notes"
    migrations = {notes.migrations!r}

migrations = Migrations(parse_url({url!r}), DatabaseSettings())
migrations.prepare(Event())
assert migrations.apply(Notes, Event()) == ()
heavy = {{"yoyo", "sqlalchemy", "sqlmodel", "psycopg", "sqlparse", "aiosqlite"}} & set(sys.modules)
assert not heavy, heavy
"""
    script = tmp_path / "start.py"
    script.write_text(code)
    subprocess.run([sys.executable, script], check=True, timeout=60)
