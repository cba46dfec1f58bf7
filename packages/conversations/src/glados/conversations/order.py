"""Writers of many processes one after the other: on SQLite the database sees to that, on PostgreSQL a lock does."""

from __future__ import annotations

from glados.database import Connection

# Group commits lock the rows of many sessions, each process in an order of its own; two that do so at once would wait
# for each other. The key is "conv" as a number; the lock is free when the transaction ends, however it ends.
_LOCK = f"SELECT pg_advisory_xact_lock({int.from_bytes(b'conv', 'big')})"


def take_turn(connection: Connection) -> None:
    """Wait until no other process writes sessions; the turn ends with the transaction."""
    if connection.kind == "postgresql":
        connection.execute(_LOCK)
