from __future__ import annotations

import pytest

from glados.database import DatabaseService
from glados.database.drivers import numbered


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT ?, ?", "SELECT $1, $2"),
        ("SELECT ?2, ?1", "SELECT $2, $1"),
        ("SELECT '?', \"?\", ? -- ?\n, ? /* ? */", "SELECT '?', \"?\", $1 -- ?\n, $2 /* ? */"),
        ("SELECT 'it''s ?', ?, $$ ? $$, $x$ ? $x$", "SELECT 'it''s ?', $1, $$ ? $$, $x$ ? $x$"),
        ("SELECT 100 % 7, ? LIKE '%s'", "SELECT 100 % 7, $1 LIKE '%s'"),
    ],
    ids=["in order", "numbered", "strings and comments", "quotes", "percent signs"],
)
def test_question_marks_become_the_placeholders_of_postgresql(sql: str, expected: str) -> None:
    assert numbered(sql) == expected.encode()


async def test_a_statement_is_the_same_on_both_databases(database: DatabaseService) -> None:
    await database.commit(lambda c: c.execute("CREATE TABLE notes (id INTEGER, body VARCHAR(99))").rowcount)
    rows = [(1, "what?"), (2, "100 %s"), (3, "ä")]
    changed = await database.commit(lambda c: c.executemany("INSERT INTO notes VALUES (?, ?)", rows).rowcount)
    assert changed == 3
    sql = "SELECT id, body FROM notes WHERE body <> '?' AND id >= ? ORDER BY id"
    assert await database.query(lambda c: list(c.execute(sql, (2,)))) == rows[1:]
    assert await database.query(lambda c: c.execute("SELECT 7 % 4").fetchone()) == (3,)
    assert await database.query(lambda c: c.kind) == database.kind
