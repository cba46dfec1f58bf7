"""Pages of sessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glados.conversations.logs import find
from glados.conversations.rows import SESSION_COLUMNS, session_of, storable
from glados.core.sessions import Order, Session
from glados.database import Connection


@dataclass(frozen=True, slots=True)
class Listing:
    """One page: which sessions, in which order, behind which."""

    limit: int
    before: str | None
    order: Order
    roots: bool
    tag: str | None
    title: str | None

    def __call__(self, connection: Connection) -> list[Session]:
        """The page, the newest first."""
        clauses, values = ["true"], list[Any]()
        if self.before is not None:
            number, updated_at = find(connection, self.before, "number, updated_at")
            if self.order == "created":
                clauses.append("number < ?")
                values.append(number)
            else:
                clauses.append("(updated_at, number) < (?, ?)")
                values += (updated_at, number)
        if self.roots:
            clauses.append("parent_id IS NULL")
        if self.tag is not None:
            clauses.append("number IN (SELECT session FROM conversations_tags WHERE tag = ?)")
            values.append(storable(self.tag))
        if self.title is not None:
            clauses.append("title_lower LIKE ? ESCAPE '!'")
            values.append(f"%{_literal(storable(self.title).lower())}%")
        order = "number DESC" if self.order == "created" else "updated_at DESC, number DESC"
        query = (
            f"SELECT {SESSION_COLUMNS} FROM conversations_sessions"
            f" WHERE {' AND '.join(clauses)} ORDER BY {order} LIMIT ?"
        )
        return [session_of(row) for row in connection.execute(query, (*values, max(self.limit, 0))).fetchall()]


def _literal(text: str) -> str:
    """A text in which LIKE finds no wildcard."""
    for special in "!%_":
        text = text.replace(special, f"!{special}")
    return text
