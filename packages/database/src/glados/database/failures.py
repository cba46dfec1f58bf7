"""What an error of a driver means, whichever way it came: who must act, and whether to try again."""

from __future__ import annotations

from typing import Any

from glados.core import GladosError
from glados.database.connections import unreachable
from glados.database.errors import Conflict, DatabaseBusy, DatabaseUnavailable, LostTransaction, ReadOnlySession
from glados.database.urls import DatabaseUrl

# serialization_failure, deadlock_detected
_LOST_RACE = frozenset({"40001", "40P01"})
_LOCKED = "55P03"
_READ_ONLY = "25006"
# Connections, resources such as the disk, an operator's shutdown, the operating system, and broken data.
_UNUSABLE = ("08", "53", "57P", "58", "XX001", "XX002")

_SQLITE_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
_SQLITE_UNUSABLE = (
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_NOTADB",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY",
)


def meaning(url: DatabaseUrl, error: Any, *, write: bool) -> GladosError | None:
    """The error of ours that a driver's error stands for; none if the author of the statement has to act."""
    if url.kind == "sqlite":
        return _of_sqlite(url, str(getattr(error, "sqlite_errorname", "")), error, write=write)
    if not type(error).__module__.startswith("psycopg"):
        return None
    state = getattr(error, "sqlstate", None) or ""
    if state in _LOST_RACE:
        return Conflict("Another transaction changed the same rows first: try again.")
    if state == _LOCKED:
        return _busy()
    if state == _READ_ONLY and not write:
        return _read_only()
    lost = not state and type(error).__name__ in ("OperationalError", "ConnectionTimeout")
    if lost or state == _READ_ONLY or state.startswith(_UNUSABLE):
        return unreachable(url, error)
    return None


def _of_sqlite(url: DatabaseUrl, name: str, error: object, *, write: bool) -> GladosError | None:
    if name.startswith(_SQLITE_BUSY):
        return _busy()
    if name == "SQLITE_READONLY" and not write:
        return _read_only()
    if name == "SQLITE_AUTH":
        return lost_transaction()
    if name.startswith(_SQLITE_UNUSABLE):
        return DatabaseUnavailable(
            f"The database file {str(url.path)!r} cannot be used: {error}. Look at the file and its disk.",
            url=url.shown,
        )
    return None


def lost_transaction() -> LostTransaction:
    """The error for work that ended the transaction it was given, in which others may have a part."""
    return LostTransaction(
        "A change or a query ended its transaction, or went on after an error of the database that had ended it:"
        " let such errors out, and leave BEGIN, COMMIT and ROLLBACK to database.commit() and database.query()."
    )


def _busy() -> DatabaseBusy:
    return DatabaseBusy("Another transaction held the database for too long: keep transactions short, and try again.")


def _read_only() -> ReadOnlySession:
    return ReadOnlySession(
        "What database.read() and database.query() give cannot write:"
        " use database.transaction(), database.write() or database.commit()."
    )
