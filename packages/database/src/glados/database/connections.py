"""Plain connections of the drivers, for the ledger and the migrations: a start must not pay for SQLAlchemy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from glados.database.errors import DatabaseUnavailable
from glados.database.urls import DatabaseUrl

if TYPE_CHECKING:
    from glados.database.settings import DatabaseSettings

# A commit survives a power failure; the rest keeps a broken or hostile file from doing harm.
WRITE_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF")
READ_PRAGMAS = ("query_only = ON", "trusted_schema = OFF")


class DriverConnection(Protocol):
    """What sqlite3's and psycopg's connections have in common and is used here."""

    def execute(self, query: Any, /) -> Any:
        """Run one statement."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


@contextmanager
def connect(url: DatabaseUrl, settings: DatabaseSettings) -> Generator[Any]:
    """A connection in which every statement stands alone; errors of the driver become sentences."""
    with told(url), closing(_open(url, settings)) as connection:
        yield connection


@contextmanager
def told(url: DatabaseUrl) -> Generator[None]:
    """Turn a driver's error into one that says where the database is and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _sqlite_failure(url, error) from error
    except Exception as error:
        if url.kind != "postgresql" or not type(error).__module__.startswith("psycopg"):
            raise
        raise unreachable(url, error) from error


def unreachable(url: DatabaseUrl, error: BaseException) -> DatabaseUnavailable:
    """The error for a PostgreSQL server that does not answer or does not let us in."""
    reason = " ".join(url.hide(str(error)).split()).rstrip(".")
    return DatabaseUnavailable(
        f"The database {url.shown} cannot be used: {reason}. Start the server or correct DATABASE_URL.", url=url.shown
    )


def check_file(url: DatabaseUrl) -> None:
    """Create the SQLite file if it is not there, for its owner alone, and see that it can be written."""
    path, folder = url.path, url.path.parent
    if not folder.is_dir():
        raise DatabaseUnavailable(
            f"The folder {str(folder)!r} of the database does not exist: create it or correct DATABASE_URL.",
            url=url.shown,
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        what = "written" if path.exists() else "created"
        raise DatabaseUnavailable(
            f"The database file {str(path)!r} cannot be {what}: {error.strerror}."
            " Give this user the right to write it, or correct DATABASE_URL.",
            url=url.shown,
        ) from error
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise DatabaseUnavailable(
            f"The folder {str(folder)!r} cannot be written, and SQLite keeps its log beside the database:"
            " give this user the right to write it, or correct DATABASE_URL.",
            url=url.shown,
        )


def _open(url: DatabaseUrl, settings: DatabaseSettings) -> Any:
    if url.kind == "sqlite":
        # mode=rw, because the default would create a file, and mode=ro could not recover one after a crash.
        address = f"{url.path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=settings.busy_timeout)
    import psycopg

    return psycopg.connect(
        url.dsn,
        autocommit=True,
        connect_timeout=settings.connect_timeout,
        fallback_application_name="glados",
    )


def _sqlite_failure(url: DatabaseUrl, error: sqlite3.Error) -> DatabaseUnavailable:
    name = getattr(error, "sqlite_errorname", "")
    path = str(url.path)
    if name == "SQLITE_NOTADB":
        message = f"The file {path!r} is not a SQLite database: move it away or correct DATABASE_URL."
    elif name.startswith("SQLITE_BUSY"):
        message = f"The database file {path!r} stayed locked by another program: end that program and try again."
    else:
        message = f"The database file {path!r} cannot be used: {error}. Look at the file or correct DATABASE_URL."
    return DatabaseUnavailable(message, url=url.shown)
