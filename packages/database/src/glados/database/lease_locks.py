"""Leases on a PostgreSQL server: advisory locks of one session, which the server frees when the session ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import TypeVar

from glados.database.drivers import PostgresqlConnection
from glados.database.failures import meaning
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl

T = TypeVar("T")

# How often, and how long apart, somebody who takes a lease again asks whether the others have seen that it lives.
TRIES, PAUSE = 100, 0.02

# The server notices a machine that is gone within half a minute, and never ends a session for being idle.
_SESSION = (
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'",
)
_HELD = """
    SELECT EXISTS (
        SELECT 1 FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND mode = 'ExclusiveLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid::bigint = ? AND objid::bigint = ?
    )
"""


class LeaseLocks:
    """The leases that one service holds on the server, in a session of their own, and a look at those of others.

    A session that is lost loses its locks, though its process lives. So whoever finds a lease dead leaves a shared lock
    on a second key, the tomb, for as long as it lives, and a holder that comes back takes its lease only without one.
    """

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._url = url
        self._settings = settings
        self._connection: PostgresqlConnection | None = None
        self._held: set[str] = set()
        self._buried: set[str] = set()
        self.lost: set[str] = set()

    def take(self, id: str) -> None:
        """Hold a lease under a new id."""
        self._on_server(lambda connection: _call(connection, "pg_advisory_lock", _keys(id)[0]))
        self._held.add(id)

    def give_back(self, id: str) -> None:
        """Hold it no longer."""
        if id in self._held:
            self._held.discard(id)
            # A session that was lost has given it back.
            with contextlib.suppress(Exception):
                if self._connection is not None:
                    _call(self._connection, "pg_advisory_unlock", _keys(id)[0])

    def alive(self, id: str) -> bool:
        """Whether somebody holds it; the tomb comes first, so that nobody takes it again unseen after a no."""
        return self._on_server(lambda connection: self._look(connection, id))

    @property
    def socket(self) -> int | None:
        """The socket on which the end of the session would be heard."""
        return None if self._connection is None or self._connection.lost else self._connection.socket

    def check(self) -> None:
        """See that the session is there; a new one takes again what can be."""
        self._on_server(lambda connection: connection.execute("SELECT 1").fetchone())

    def forget(self) -> None:
        """Let go of the socket in a child after a fork, without a word to the server: the session is the parent's."""
        connection, self._connection = self._connection, None
        self._held.clear()
        if connection is not None:
            with contextlib.suppress(Exception):
                os.close(connection.socket)

    def close(self) -> None:
        """Give back all."""
        self._held.clear()
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    def _on_server(self, work: Callable[[PostgresqlConnection], T]) -> T:
        """Do something in the session, or in a new one if it was lost."""
        for last in (False, True):
            try:
                return work(self._session())
            except Exception as error:
                lost = self._connection is None or self._connection.lost
                if lost and not last:
                    continue
                failure = meaning(self._url, error, write=True)
                if failure is None:
                    raise
                raise failure from error
        raise AssertionError("unreachable")

    def _session(self) -> PostgresqlConnection:
        if self._connection is None or self._connection.lost:
            connection = PostgresqlConnection.open(self._url, self._settings, write=True)
            try:
                for statement in _SESSION:
                    connection.execute(statement)
                for id in self._buried:
                    _call(connection, "pg_advisory_lock_shared", _keys(id)[1])
                lost = {id for id in self._held if not _taken_again(connection, id)}
            except BaseException:
                connection.close()
                raise
            self.lost |= lost
            self._held -= lost
            self._connection = connection
        return self._connection

    def _look(self, connection: PostgresqlConnection, id: str) -> bool:
        key, tomb = _keys(id)
        if id not in self._buried:
            _call(connection, "pg_advisory_lock_shared", tomb)
        if connection.execute(_HELD, (key >> 32 & 0xFFFFFFFF, key & 0xFFFFFFFF)).fetchone()[0]:
            _call(connection, "pg_advisory_unlock_shared", tomb)
            self._buried.discard(id)
            return True
        self._buried.add(id)
        return False


def _taken_again(connection: PostgresqlConnection, id: str) -> bool:
    key, tomb = _keys(id)
    if not _call(connection, "pg_try_advisory_lock", key):
        return False
    for _ in range(TRIES):
        # One who is only looking sees that the lease is held and lets the tomb go; one who saw it dead does not.
        if _call(connection, "pg_try_advisory_lock", tomb):
            _call(connection, "pg_advisory_unlock", tomb)
            return True
        time.sleep(PAUSE)
    _call(connection, "pg_advisory_unlock", key)
    return False


def _call(connection: PostgresqlConnection, function: str, key: int) -> bool:
    return bool(connection.execute(f"SELECT {function}(?::bigint)", (key,)).fetchone()[0])


def _keys(id: str) -> tuple[int, int]:
    """The lock's key and the tomb's."""
    value = bytes.fromhex(id)
    return int.from_bytes(value[:8], "big", signed=True), int.from_bytes(value[8:16], "big", signed=True)
