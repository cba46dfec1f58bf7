"""Deleting a session with all below it, in one transaction; nothing of it stays, not in the search index either."""

from __future__ import annotations

from collections.abc import Collection

from glados.conversations.logs import number_of
from glados.conversations.order import take_turn
from glados.conversations.search_index import drop_from_index
from glados.core.errors import SessionBusy
from glados.database import Connection

_BELOW = (
    "WITH RECURSIVE below (number, id) AS (SELECT number, id FROM conversations_sessions WHERE number = ?"
    " UNION SELECT s.number, s.id FROM conversations_sessions s JOIN below ON s.parent_id = below.id)"
)
_FAMILY = f"{_BELOW} SELECT number, id, indexed FROM conversations_sessions WHERE number IN (SELECT number FROM below)"
_LEASES = f"{_BELOW} SELECT DISTINCT lease FROM conversations_runs WHERE session IN (SELECT number FROM below)"


def leases_below(connection: Connection, session_id: str) -> set[str]:
    """The leases of the runs that are open in a session or below it."""
    rows = connection.execute(_LEASES, (number_of(connection, session_id),)).fetchall()
    return {row[0] for row in rows}


def delete_session(connection: Connection, session_id: str, allowed: Collection[str]) -> None:
    """Delete a session and those below it, unless a run is open there by another lease than these."""
    take_turn(connection)
    if not leases_below(connection, session_id) <= set(allowed):
        raise SessionBusy(
            f"Another process works in session {session_id!r} or below it: abort its run first, or wait.",
            session_id=session_id,
        )
    for number, id, indexed in connection.execute(_FAMILY, (number_of(connection, session_id),)).fetchall():
        drop_from_index(connection, number, indexed)
        for table in ("entries", "tags", "costs", "runs"):
            connection.execute(f"DELETE FROM conversations_{table} WHERE session = ?", (number,))
        for table in ("rules", "artifacts"):
            connection.execute(f"DELETE FROM conversations_{table} WHERE session_id = ?", (id,))
        connection.execute("DELETE FROM conversations_sessions WHERE number = ?", (number,))
