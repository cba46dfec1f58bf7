from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click.testing
import pytest

from glados.core import CommandContext, Settings
from glados.database import Connection, MigrationError, NoRollback
from glados.database.commands import db
from glados.database.testing import open_database

INIT = {
    "2026-11-01-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255) NOT NULL);",
    "2026-11-01-init.rollback.sql": "DROP TABLE notes_items;",
}

SQLITE = """
-- depends: 2026-11-01-init
CREATE VIRTUAL TABLE notes_search USING fts5(title, content='notes_items', content_rowid='id');
ALTER TABLE notes_items ADD COLUMN length integer;
CREATE TRIGGER notes_measure AFTER INSERT ON notes_items BEGIN
    UPDATE notes_items SET length = length(new.title) WHERE id = new.id;
END;
"""

POSTGRESQL = """
-- depends: 2026-11-01-init
ALTER TABLE notes_items ADD COLUMN words tsvector GENERATED ALWAYS AS (to_tsvector('english', title)) STORED;
CREATE INDEX notes_items_words ON notes_items USING gin (words);
ALTER TABLE notes_items ADD COLUMN length integer;
CREATE FUNCTION notes_measure() RETURNS trigger AS $$
BEGIN
    IF new.title IS NOT NULL THEN
        new.length := length(new.title);
    END IF;
    RETURN new;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER notes_measure BEFORE INSERT ON notes_items FOR EACH ROW EXECUTE FUNCTION notes_measure();
"""

SEARCH = {
    "2026-11-18-search.sqlite.sql": SQLITE,
    "2026-11-18-search.sqlite.rollback.sql": """
        DROP TRIGGER notes_measure;
        ALTER TABLE notes_items DROP COLUMN length;
        DROP TABLE notes_search;
    """,
    "2026-11-18-search.postgresql.sql": POSTGRESQL,
    "2026-11-18-search.postgresql.rollback.sql": """
        DROP TRIGGER notes_measure ON notes_items;
        DROP FUNCTION notes_measure();
        ALTER TABLE notes_items DROP COLUMN length;
        DROP INDEX notes_items_words;
        ALTER TABLE notes_items DROP COLUMN words;
    """,
}

FIND = {
    "sqlite": "SELECT rowid FROM notes_search WHERE notes_search MATCH ?",
    "postgresql": "SELECT id FROM notes_items WHERE words @@ to_tsquery('english', ?)",
}


async def test_the_file_of_the_database_at_hand_is_applied_under_one_id(
    database_url: str, make_plugin: Any, store: Any
) -> None:
    def fill(connection: Connection) -> None:
        rows = [(1, "Running water"), (2, "A quiet place"), (3, "Wine")]
        connection.executemany("INSERT INTO notes_items (id, title) VALUES (?, ?)", rows)
        if connection.kind == "sqlite":
            # Not by a trigger: SQLite does not trust those of a file with a virtual table.
            connection.executemany("INSERT INTO notes_search (rowid, title) VALUES (?, ?)", rows)

    async with open_database(database_url, make_plugin("notes", INIT | SEARCH)) as database:
        assert store.marks() == ("notes.2026-11-01-init", "notes.2026-11-18-search")
        await database.commit(fill)
        found = await database.query(lambda c: c.execute(FIND[c.kind], ("water",)).fetchall())
        assert found == [(1,)]
        found = await database.query(lambda c: c.execute("SELECT length FROM notes_items ORDER BY id").fetchall())
        assert found == [(13,), (13,), (4,)]


def test_its_rollback_is_the_one_of_the_database_at_hand(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | SEARCH)
    store.apply(notes)
    store.rollback(notes, "notes.2026-11-18-search")
    assert store.tables() == {"notes_items"}
    assert store.marks() == ("notes.2026-11-01-init",)
    assert store.apply(notes) == ("notes.2026-11-18-search",)


def test_a_pair_without_rollbacks_cannot_be_taken_back(store: Any, make_plugin: Any) -> None:
    files = {name: text for name, text in SEARCH.items() if "rollback" not in name}
    notes = make_plugin("notes", INIT | files)
    store.apply(notes)
    with pytest.raises(NoRollback, match=rf"2026-11-18-search\.{store.url.kind}\.rollback\.sql"):
        store.rollback(notes, "notes.2026-11-18-search")


def test_one_side_may_hold_nothing_but_a_comment(store: Any, make_plugin: Any) -> None:
    files = {
        "2026-11-18-a.sqlite.sql": "-- SQLite needs nothing.\n",
        "2026-11-18-a.postgresql.sql": "CREATE TABLE notes_a (x INTEGER);",
    }
    assert store.apply(make_plugin("notes", files)) == ("notes.2026-11-18-a",)
    assert store.tables() == (set() if store.url.kind == "sqlite" else {"notes_a"})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["2026-11-18-a.sqlite.sql"], r"has '2026-11-18-a\.sqlite\.sql' but no '2026-11-18-a\.postgresql\.sql'"),
        (["2026-11-18-a.postgresql.sql"], r"no '2026-11-18-a\.sqlite\.sql'"),
        (["2026-11-18-a.sql", "2026-11-18-a.sqlite.sql"], r"keep the one for both databases or the pair"),
        (["2026-11-18-a.postgres.sql"], r"'postgres' is no database: write \.sqlite\.sql and \.postgresql\.sql"),
        (
            ["2026-11-18-a.sqlite.sql", "2026-11-18-a.postgresql.sql", "2026-11-18-a.sqlite.rollback.sql"],
            r"no '2026-11-18-a\.postgresql\.rollback\.sql'",
        ),
        (
            ["2026-11-18-a.sqlite.sql", "2026-11-18-a.postgresql.sql", "2026-11-18-a.rollback.sql"],
            r"no '2026-11-18-a\.sql'",
        ),
        (["2026-11-18-a.sql", "2026-11-18-a.sqlite.rollback.sql"], r"no '2026-11-18-a\.sqlite\.sql'"),
    ],
    ids=["sqlite alone", "postgresql alone", "both and one", "misspelt", "one rollback", "rollback of both", "other"],
)
def test_a_pair_that_is_not_whole_is_refused_by_name(
    store: Any, make_plugin: Any, names: list[str], message: str
) -> None:
    notes = make_plugin("notes", dict.fromkeys(names, "CREATE TABLE notes_a (x INTEGER);"))
    with pytest.raises(MigrationError, match=message):
        store.apply(notes)
    assert store.marks() == ()


def test_a_version_in_a_name_is_no_database(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", {"2026-11-18-to-1.2.sql": "CREATE TABLE notes_a (x INTEGER);"})
    assert store.apply(notes) == ("notes.2026-11-18-to-1.2",)


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("sqlite", "CREATE VIRTUAL TABLE other_search USING fts5(title);"),
        ("sqlite", "CREATE TRIGGER other_t AFTER INSERT ON notes_items BEGIN SELECT 1; END;"),
        ("postgresql", "CREATE FUNCTION other_f() RETURNS integer AS $$ SELECT 1; $$ LANGUAGE sql;"),
    ],
    ids=["search table", "trigger", "function"],
)
def test_what_a_pair_makes_begins_with_the_section_too(store: Any, make_plugin: Any, kind: str, statement: str) -> None:
    if store.url.kind != kind:
        statement = "CREATE TABLE other_a (x INTEGER);"
    files = {f"2026-11-18-a.{each}.sql": statement for each in ("sqlite", "postgresql")}
    before = make_plugin("notes", INIT)
    store.apply(before)
    with pytest.raises(MigrationError, match=r"creates or drops 'other_.*begin with 'notes_'"):
        store.apply(make_plugin("notes", files))
    assert store.tables() == {"notes_items"}


def test_the_commands_show_apply_and_take_back_a_pair(database_url: str, make_plugin: Any, tmp_path: Path) -> None:
    notes = make_plugin("notes", INIT | SEARCH)

    def run(*arguments: str) -> str:
        settings = Settings(environ={}, overrides={"database": {"url": database_url}})
        context = CommandContext(settings, [notes()], [], tmp_path)
        result = click.testing.CliRunner().invoke(db, arguments, obj=context, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert "  pending  notes.2026-11-18-search\n" in run("status")
    assert run("migrate") == "Applied notes.2026-11-01-init.\nApplied notes.2026-11-18-search.\n"
    assert json.loads(run("status", "--json"))["plugins"][0]["pending"] == []
    assert "Rolled back notes.2026-11-18-search." in run("rollback", "notes", "--yes")
    assert json.loads(run("status", "--json"))["plugins"][0]["pending"] == ["notes.2026-11-18-search"]
    (notes.migrations_path() / "2026-11-18-search.postgresql.sql").unlink()
    (notes.migrations_path() / "2026-11-18-search.postgresql.rollback.sql").unlink()
    assert "no '2026-11-18-search.postgresql.sql'" in run("status")
