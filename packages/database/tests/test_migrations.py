from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from glados.database import ForeignDatabase, MigrationError, NoRollback, PendingMigrations, UnknownMigrations
from glados.database.connections import connect
from glados.database.ledger import relations
from glados.database.locks import file_lock, server_lock
from glados.database.migrations import Migrations
from glados.database.migrator import SqlMigrator
from glados.database.settings import DatabaseSettings
from glados.database.urls import parse_url

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "ALTER TABLE notes_items ADD COLUMN body VARCHAR(255);",
    "2026-03-01-more.rollback.sql": "ALTER TABLE notes_items DROP COLUMN body;",
}


class Store:
    """A database as the tests look at it: what is in it, and how it is migrated."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.url = parse_url(url)
        self.settings = DatabaseSettings(**settings)
        self.migrations = Migrations(self.url, self.settings)

    def apply(self, plugin: Any, *, check: bool = False) -> tuple[str, ...]:
        return self.migrations.apply(plugin, Event(), check=check)

    def rollback(self, plugin: Any, *ids: str) -> None:
        self.migrations.rollback(plugin, ids, Event())

    def marks(self) -> tuple[str, ...]:
        return self.migrations.ledger().marks

    def tables(self) -> set[str]:
        with connect(self.url, self.settings) as connection:
            return {name for name in relations(connection, self.url.kind) if not name.startswith("glados_migrations")}

    def run(self, statement: str) -> list[Any]:
        with connect(self.url, self.settings) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def store(database_url: str) -> Store:
    return Store(database_url)


def test_migrations_are_applied_in_order_and_once(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    assert store.apply(notes) == ("notes.2026-02-18-init", "notes.2026-03-01-more")
    assert store.apply(notes) == ()
    store.run("INSERT INTO notes_items (id, title, body) VALUES (1, 'a', 'b')")
    assert store.marks() == ("notes.2026-02-18-init", "notes.2026-03-01-more")


def test_a_later_version_applies_only_what_is_new(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    assert store.apply(make_plugin("notes", MORE)) == ("notes.2026-03-01-more",)


def test_two_plugins_may_have_migrations_of_the_same_name(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("first-one", {"2026-02-18-init.sql": "CREATE TABLE first_one_a (x INTEGER);"}))
    store.apply(make_plugin("second", {"2026-02-18-init.sql": "CREATE TABLE second_a (x INTEGER);"}))
    assert store.marks() == ("first_one.2026-02-18-init", "second.2026-02-18-init")
    assert store.tables() == {"first_one_a", "second_a"}


def test_a_migration_may_depend_on_another_of_its_folder(store: Store, make_plugin: Any) -> None:
    make_plugin("other", {"2026-01-02-b.sql": "CREATE TABLE other_b (x INTEGER);"})
    notes = make_plugin(
        "notes",
        {
            "2026-01-01-a.sql": "-- depends: 2026-01-02-b\nALTER TABLE notes_b ADD COLUMN y INTEGER;",
            "2026-01-02-b.sql": "CREATE TABLE notes_b (x INTEGER);",
        },
    )
    store.apply(notes)
    assert store.run("SELECT x, y FROM notes_b") == []


def test_a_dependency_that_the_folder_does_not_have_is_refused(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("other", {"2026-01-02-b.sql": "CREATE TABLE other_b (x INTEGER);"}))
    notes = make_plugin("notes", {"2026-01-01-a.sql": "-- depends: 2026-01-02-b\nCREATE TABLE notes_a (x INTEGER);"})
    with pytest.raises(MigrationError, match=r"notes\.2026-01-01-a"):
        store.apply(notes)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE notes_a (x INTEGER);\r\nCREATE TABLE notes_b (y INTEGER);\r\n",
        "-- first; second\nCREATE TABLE notes_a (x INTEGER); -- a; b\n/* c; d */ CREATE TABLE notes_b (y INTEGER)",
        "\n\nCREATE TABLE notes_a (x VARCHAR(9) DEFAULT 'a;b');\nCREATE VIEW notes_b AS SELECT x FROM notes_a; -- end;",
        "CREATE TABLE notes_a (x VARCHAR(9) DEFAULT '100%');\nCREATE INDEX ix_notes_a ON notes_a (x);\n"
        "CREATE TABLE notes_b (täxt VARCHAR(9) DEFAULT ':x %s ?');\nSELECT 1;",
    ],
    ids=["windows line endings", "semicolons in comments", "semicolons in strings", "placeholders and rows"],
)
def test_files_hold_any_sql(store: Store, make_plugin: Any, capsys: pytest.CaptureFixture[str], sql: str) -> None:
    store.apply(make_plugin("notes", {"2026-01-01-init.sql": sql}))
    assert store.tables() == {"notes_a", "notes_b"}
    assert capsys.readouterr().out == ""


def test_a_trigger_of_several_statements_is_one(tmp_path: Path, make_plugin: Any) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    sql = """
        CREATE TABLE notes_a (x INTEGER);
        CREATE TRIGGER notes_t AFTER INSERT ON notes_a BEGIN
            UPDATE notes_a SET x = x + 1;
            UPDATE notes_a SET x = x * 10;
        END;
        CREATE TABLE notes_b (x INTEGER);
    """
    store.apply(make_plugin("notes", {"2026-01-01-init.sql": sql}))
    store.run("INSERT INTO notes_a VALUES (1)")
    assert store.run("SELECT x FROM notes_a") == [(20,)]


def test_a_migration_that_fails_half_way_leaves_nothing_and_says_where(store: Store, make_plugin: Any) -> None:
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


def test_a_failing_plugin_does_not_stop_another(store: Store, make_plugin: Any) -> None:
    with pytest.raises(MigrationError):
        store.apply(make_plugin("broken", {"2026-01-01-init.sql": "CREATE TABEL broken_a (x INTEGER);"}))
    store.apply(make_plugin("notes", INIT))
    assert store.tables() == {"notes_items"}


def test_check_applies_nothing_and_says_what_to_run(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT)
    with pytest.raises(PendingMigrations, match=r"notes\.2026-02-18-init.*glados db migrate notes"):
        store.apply(notes, check=True)
    assert store.url.kind == "postgresql" or not store.url.path.exists()
    store.apply(notes)
    assert store.apply(notes, check=True) == ()


def test_a_database_that_is_newer_than_the_code_fails_that_plugin_alone(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    store.apply(notes)
    (notes.migrations_path() / "2026-03-01-more.sql").unlink()
    (notes.migrations_path() / "2026-03-01-more.rollback.sql").unlink()
    for check in (False, True):
        with pytest.raises(UnknownMigrations, match=r"notes\.2026-03-01-more"):
            store.apply(notes, check=check)
    store.apply(make_plugin("other", {"2026-01-01-init.sql": "CREATE TABLE other_a (x INTEGER);"}))


def test_marks_of_absent_plugins_are_left_alone(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    store.apply(make_plugin("other", {"2026-01-01-init.sql": "CREATE TABLE other_a (x INTEGER);"}))
    assert store.marks() == ("notes.2026-02-18-init", "other.2026-01-01-init")
    assert store.migrations.ledger().sections() == ("notes", "other")


def test_the_database_of_somebody_else_is_not_touched(store: Store, make_plugin: Any) -> None:
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


def test_a_database_that_somebody_else_keeps_with_yoyo_is_foreign(store: Store, make_plugin: Any) -> None:
    if store.url.kind == "sqlite":
        store.url.path.touch()
    store.run("CREATE TABLE _yoyo_migration (migration_hash VARCHAR(64), migration_id VARCHAR(255))")
    with pytest.raises(ForeignDatabase):
        store.apply(make_plugin("notes", INIT))


def test_tables_beside_ours_are_no_reason_to_refuse(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    store.run("CREATE TABLE theirs (x INTEGER)")
    store.apply(make_plugin("notes", MORE))
    assert store.tables() == {"notes_items", "theirs"}


def test_a_rollback_takes_back_the_tables_and_the_mark(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    store.apply(notes)
    store.rollback(notes, "notes.2026-03-01-more")
    assert store.marks() == ("notes.2026-02-18-init",)
    store.rollback(notes, "notes.2026-02-18-init")
    assert store.tables() == set()
    assert store.apply(notes) == ("notes.2026-02-18-init", "notes.2026-03-01-more")


def test_a_rollback_runs_its_statements_in_the_order_of_the_file(store: Store, make_plugin: Any) -> None:
    files = {
        "2026-01-01-init.sql": "CREATE TABLE notes_a (x INTEGER);",
        "2026-01-01-init.rollback.sql": "ALTER TABLE notes_a RENAME TO notes_b;\nDROP TABLE notes_b;\n",
    }
    notes = make_plugin("notes", files)
    store.apply(notes)
    store.rollback(notes, "notes.2026-01-01-init")
    assert store.tables() == set()


def test_a_migration_without_a_rollback_applies_and_cannot_be_taken_back(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | {"2026-03-01-more.sql": "CREATE TABLE notes_more (x INTEGER);"})
    store.apply(notes)
    with pytest.raises(NoRollback, match=r"2026-03-01-more\.rollback\.sql"):
        store.rollback(notes, "notes.2026-03-01-more", "notes.2026-02-18-init")
    assert store.tables() == {"notes_items", "notes_more"}


def test_a_rollback_that_fails_leaves_everything(store: Store, make_plugin: Any) -> None:
    notes = make_plugin(
        "notes", INIT | {"2026-02-18-init.rollback.sql": "DROP TABLE notes_items;\nDROP TABLE nowhere;"}
    )
    store.apply(notes)
    with pytest.raises(MigrationError, match="could not be rolled back"):
        store.rollback(notes, "notes.2026-02-18-init")
    assert store.tables() == {"notes_items"}
    assert store.marks() == ("notes.2026-02-18-init",)


@pytest.mark.parametrize("statement", ["COMMIT", "begin", "ROLLBACK", "/* x */ END", "SAVEPOINT a", "VACUUM"])
def test_a_statement_that_would_end_the_transaction_is_refused(store: Store, make_plugin: Any, statement: str) -> None:
    notes = make_plugin("notes", {"2026-01-01-init.sql": f"CREATE TABLE notes_a (x INTEGER);\n{statement};\n"})
    with pytest.raises(MigrationError, match="one transaction"):
        store.apply(notes)
    assert store.tables() == set()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"2026-01-01-init.sql": "-- transactional: false\nCREATE TABLE notes_a (x INTEGER);"}, "transactional: false"),
        ({"2026-01-01-init.py": "from yoyo import step"}, "dated SQL file"),
        ({"2026-01-01-init.rollback.sql": "DROP TABLE notes_a;"}, r"no '2026-01-01-init\.sql'"),
        ({f"2026-01-01-{'x' * 240}.sql": "SELECT 1;"}, "too long"),
        ({"2026-01-01-init.sql": "CREATE TABLE other_a (x INTEGER);"}, "begin with 'notes_'"),
        ({"2026-01-01-init.sql": "CREATE VIEW others AS SELECT 1 AS x;"}, "begin with 'notes_'"),
    ],
    ids=["not transactional", "python", "rollback alone", "long name", "another's table", "another's view"],
)
def test_a_folder_that_breaks_the_rules_is_refused(
    store: Store, make_plugin: Any, files: dict[str, str], message: str
) -> None:
    with pytest.raises(MigrationError, match=message):
        store.apply(make_plugin("notes", files))


def test_a_plugin_cannot_drop_the_table_of_another(store: Store, make_plugin: Any) -> None:
    store.apply(make_plugin("notes", INIT))
    with pytest.raises(MigrationError, match="notes_items"):
        store.apply(make_plugin("other", {"2026-01-01-init.sql": "DROP TABLE notes_items;"}))
    assert store.tables() == {"notes_items"}


def test_a_missing_folder_is_told(store: Store, make_plugin: Any) -> None:
    notes = make_plugin("notes", {})
    notes.migrations_path().rmdir()
    with pytest.raises(MigrationError, match="no folder"):
        store.apply(notes)


def test_sqlite_rebuilds_a_table_that_others_refer_to(tmp_path: Path, make_plugin: Any) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
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


def test_who_waits_too_long_for_another_process_is_told(database_url: str, make_plugin: Any) -> None:
    store = Store(database_url, migrate_timeout=0.1)
    holder = Store(database_url)
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


async def test_a_cancelled_start_stops_waiting_for_the_lock(tmp_path: Path, make_plugin: Any) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    with file_lock(store.url.path, 1, Event()):
        task = asyncio.create_task(SqlMigrator(store.url, store.settings).apply(make_plugin("notes", INIT)))
        async with asyncio.timeout(30):
            while not any("asyncio" in thread.name for thread in threading.enumerate()):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert not store.url.path.exists() or store.tables() == set()


async def test_migrations_do_not_block_the_event_loop_and_are_logged(
    store: Store, make_plugin: Any, caplog: pytest.LogCaptureFixture
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


def test_a_start_with_nothing_to_apply_imports_neither_yoyo_nor_sqlalchemy(tmp_path: Path, make_plugin: Any) -> None:
    url = f"sqlite:///{tmp_path / 'a.sqlite3'}"
    notes = make_plugin("notes", INIT)
    Store(url).apply(notes)
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
