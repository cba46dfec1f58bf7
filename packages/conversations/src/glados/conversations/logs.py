"""Sessions and their logs, read from the tables and written to them as a whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from glados.conversations.rows import (
    ENTRY_COLUMNS,
    INSERT_ENTRY,
    SESSION_COLUMNS,
    EntryRow,
    is_storable,
    row_of,
    session_of,
    storable,
)
from glados.core.errors import InvalidInput, SessionExists
from glados.core.sessions import Entry, Session, session_not_found
from glados.database import Connection

NO_END = (1 << 63) - 1  # no number of an entry is greater

_INSERT_SESSION = (
    "INSERT INTO conversations_sessions (id, parent_id, title, title_lower, tags, principal, forked_from, tainted,"
    " created_at, updated_at, seq, head, indexed, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost,"
    " unknown_costs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0)"
    " ON CONFLICT (id) DO NOTHING RETURNING number"
)
_INSERT_TAG = "INSERT INTO conversations_tags (tag, session) VALUES (?, ?)"


def number_of(connection: Connection, session_id: str) -> int:
    """The number of a session, or SessionNotFound."""
    return find(connection, session_id, "number")[0]


def find(connection: Connection, session_id: str, columns: str) -> Any:
    """Columns of a session's row, or SessionNotFound."""
    found = None
    if is_storable(session_id):
        query = f"SELECT {columns} FROM conversations_sessions WHERE id = ?"
        found = connection.execute(query, (session_id,)).fetchone()
    if found is None:
        raise session_not_found(session_id)
    return found


def read_session(connection: Connection, session_id: str) -> Session:
    """A session, or SessionNotFound."""
    return session_of(find(connection, session_id, SESSION_COLUMNS))


def read_rows(connection: Connection, session: int, after: int = 0, limit: int | None = None) -> list[EntryRow]:
    """The rows of a session's log behind a number."""
    query = f"SELECT {ENTRY_COLUMNS} FROM conversations_entries WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq"
    last = NO_END if limit is None else min(after + limit, NO_END)
    return connection.execute(query, (session, after, last)).fetchall()


def has_entry(connection: Connection, session: int, entry_id: str) -> bool:
    """Whether a session has an entry of that id."""
    query = "SELECT 1 FROM conversations_entries WHERE session = ? AND id = ?"
    return is_storable(entry_id) and connection.execute(query, (session, entry_id)).fetchone() is not None


def branch_rows(rows: list[EntryRow], head: str | None) -> list[EntryRow]:
    """The rows from the first to the head; no payload is looked at, so that other branches cost little."""
    on_branch: list[EntryRow] = []
    wanted = head
    for row in reversed(rows):
        if row[1] == wanted:
            on_branch.append(row)
            wanted = row[2]
    return on_branch[::-1]


def insert_session(connection: Connection, session: Session) -> int:
    """Write a session's row, whose sums begin at nothing; its number."""
    if not is_storable(session.id) or not session.id:
        raise InvalidInput(f"{session.id!r} is no id for a session: leave out what is no text.")
    title, tags = session.title, [storable(tag) for tag in session.tags]
    values = (
        session.id,
        session.parent_id,
        None if title is None else storable(title),
        storable(title or "").lower(),
        json.dumps(tags),
        session.principal,
        session.forked_from,
        int(session.tainted),
        session.created_at,
        session.updated_at,
        session.seq,
        session.head,
    )
    inserted = connection.execute(_INSERT_SESSION, values).fetchone()
    if inserted is None:
        raise SessionExists(f"There is a session {session.id!r} already.", session_id=session.id)
    insert_tags(connection, inserted[0], tags)
    return inserted[0]


def insert_tags(connection: Connection, session: int, tags: Sequence[str]) -> None:
    """Write the tags of a session that has none."""
    if tags:
        connection.executemany(_INSERT_TAG, [(tag, session) for tag in dict.fromkeys(tags)])


def insert_log(connection: Connection, session: int, entries: Sequence[Entry]) -> None:
    """Write the log of a session that has none."""
    if entries:
        connection.executemany(INSERT_ENTRY, [row_of(session, entry) for entry in entries])
