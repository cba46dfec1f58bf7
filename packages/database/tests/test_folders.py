from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glados.database import MigrationError

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY, title VARCHAR(255));",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "ALTER TABLE notes_items ADD COLUMN body VARCHAR(255);",
    "2026-03-01-more.rollback.sql": "ALTER TABLE notes_items DROP COLUMN body;",
}


def test_a_migration_may_depend_on_another_of_its_folder(store: Any, make_plugin: Any) -> None:
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


def test_a_dependency_that_the_folder_does_not_have_is_refused(store: Any, make_plugin: Any) -> None:
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
def test_files_hold_any_sql(store: Any, make_plugin: Any, capsys: pytest.CaptureFixture[str], sql: str) -> None:
    store.apply(make_plugin("notes", {"2026-01-01-init.sql": sql}))
    assert store.tables() == {"notes_a", "notes_b"}
    assert capsys.readouterr().out == ""


def test_a_trigger_of_several_statements_is_one(make_store: Any, tmp_path: Path, make_plugin: Any) -> None:
    store = make_store(f"sqlite:///{tmp_path / 'a.sqlite3'}")
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


@pytest.mark.parametrize("statement", ["COMMIT", "begin", "ROLLBACK", "/* x */ END", "SAVEPOINT a", "VACUUM"])
def test_a_statement_that_would_end_the_transaction_is_refused(store: Any, make_plugin: Any, statement: str) -> None:
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
    store: Any, make_plugin: Any, files: dict[str, str], message: str
) -> None:
    with pytest.raises(MigrationError, match=message):
        store.apply(make_plugin("notes", files))


def test_a_missing_folder_is_told(store: Any, make_plugin: Any) -> None:
    notes = make_plugin("notes", {})
    notes.migrations_path().rmdir()
    with pytest.raises(MigrationError, match="no folder"):
        store.apply(notes)
