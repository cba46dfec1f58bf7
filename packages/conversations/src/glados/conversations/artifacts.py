"""Artifacts in a table: long results that can be read on after a restart too."""

from __future__ import annotations

import secrets

from glados.conversations.order import take_turn
from glados.conversations.rows import is_storable
from glados.core.artifacts import ArtifactsSettings, Piece, artifact_not_found, piece_of
from glados.database import Connection, DatabaseService

_INSERT = (
    "INSERT INTO conversations_artifacts (id, session_id, call_id, tool_id, untrusted, size, text)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_SIZES = "SELECT number, size FROM conversations_artifacts ORDER BY number DESC"
_READ = "SELECT text, untrusted FROM conversations_artifacts WHERE id = ?"


class SqlArtifactStore:
    """The newest artifacts that fit, of all sessions and processes together."""

    def __init__(self, database: DatabaseService, settings: ArtifactsSettings) -> None:
        self._database = database
        self._settings = settings

    async def put(self, session_id: str | None, call_id: str, tool_id: str, text: str, untrusted: bool) -> str | None:
        """Keep a text; the oldest ones give way to it."""
        data = text.encode("utf-8", "surrogatepass")  # as bytes, because PostgreSQL's text holds no NUL
        if len(data) > self._settings.max_bytes or not self._settings.max_number:
            return None
        id = secrets.token_hex(8)

        def change(connection: Connection) -> None:
            take_turn(connection)
            values = (id, session_id, call_id, tool_id, int(untrusted), len(data), data)
            connection.execute(_INSERT, values)
            self._make_room(connection)

        await self._database.commit(change)
        return id

    async def read(self, id: str, offset: int, limit: int) -> Piece:
        """At most `limit` characters from `offset` on."""

        def look(connection: Connection) -> Piece | None:
            row = connection.execute(_READ, (id,)).fetchone() if is_storable(id) else None
            return row and piece_of(bytes(row[0]).decode("utf-8", "surrogatepass"), offset, limit, bool(row[1]))

        piece = await self._database.query(look)
        if piece is None:
            raise artifact_not_found(id)
        return piece

    async def forget_session(self, session_id: str) -> None:
        """Drop what belongs to a session."""

        def change(connection: Connection) -> None:
            take_turn(connection)
            connection.execute("DELETE FROM conversations_artifacts WHERE session_id = ?", (session_id,))

        await self._database.commit(change)

    def _make_room(self, connection: Connection) -> None:
        number, size, gone = 0, 0, list[tuple[int]]()
        for artifact, bytes_of in connection.execute(_SIZES).fetchall():
            number, size = number + 1, size + bytes_of
            if number > self._settings.max_number or size > self._settings.max_bytes:
                gone.append((artifact,))
        if gone:
            connection.executemany("DELETE FROM conversations_artifacts WHERE number = ?", gone)
