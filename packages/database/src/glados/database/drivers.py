"""Connections of the drivers with one face for both databases: what `database.commit()` and `query()` hand out.

No SQLAlchemy here: these are the quick ways in, and psycopg is loaded when there is a PostgreSQL to talk to.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from glados.database.connections import READ_PRAGMAS, WRITE_PRAGMAS
from glados.database.failures import lost_transaction
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl, Kind

CACHED_STATEMENTS = 512

# What a question mark may stand in without being a placeholder: strings, names, comments, dollar quotes.
_PARTS = re.compile(
    r"'(?:[^']|'')*' | \"(?:[^\"]|\"\")*\" | --[^\n]* | /\*.*?\*/ | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
    r"| \?(?P<number>\d*)",
    re.VERBOSE | re.DOTALL,
)

# A statement that ends the transaction would end it for others too.
_ENDING = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:ABORT|BEGIN|COMMIT|END|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:\w+\s+)?TO\b)|START)\b",
    re.IGNORECASE | re.DOTALL,
)


class Cursor(Protocol):
    """The result of a statement, as both drivers give it; a row is a tuple."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Row by row."""
        ...


class Connection(Protocol):
    """A connection inside a transaction; `?` stands for a parameter on both databases."""

    @property
    def kind(self) -> Kind:
        """`sqlite` or `postgresql`, where a statement cannot be the same."""
        ...

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Run one statement for each of the parameters."""
        ...


class Driver(Connection, Protocol):
    """What the writer and the readers do with a connection besides."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open in which statements can be run."""
        ...

    @property
    def lost(self) -> bool:
        """Whether it leads nowhere any more, so that a new one is needed."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def commit(self) -> None:
        """End it and keep what it changed."""
        ...

    def rollback(self) -> None:
        """End it and take back what it changed."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class SqliteConnection(sqlite3.Connection):
    """sqlite3's own connection, so that its methods are called with nothing in between."""

    kind: Kind = "sqlite"
    _begin = ""
    _path = Path()
    _file = (0, 0)
    _ours = True

    @classmethod
    def open(cls, url: DatabaseUrl, settings: DatabaseSettings, *, write: bool) -> SqliteConnection:
        """A connection to the file, which is not created."""
        self = sqlite3.connect(
            f"{url.path.as_uri()}?mode={'rw' if write else 'ro'}",
            uri=True,
            isolation_level=None,
            timeout=settings.busy_timeout,
            cached_statements=CACHED_STATEMENTS,
            factory=cls,
        )
        try:
            for pragma in WRITE_PRAGMAS if write else READ_PRAGMAS:
                self.execute(f"PRAGMA {pragma}")
        except BaseException:
            self.close()
            raise
        self._begin = "BEGIN IMMEDIATE" if write else "BEGIN DEFERRED"
        self._path = url.path
        self._file = _identity(self._path)
        self._ours = False
        self.set_authorizer(self._allowed)
        return self

    @property
    def lost(self) -> bool:
        """Whether the file was removed or replaced: SQLite would go on in the old one, which nobody reads."""
        return _identity(self._path) != self._file

    def begin(self) -> None:
        """Begin a transaction; to write is decided at once, so that no race is lost later."""
        self._ours = True
        self.execute(self._begin)
        self._ours = False

    def commit(self) -> None:
        """End it and keep what it changed."""
        self._ours = True
        super().commit()
        self._ours = False

    def rollback(self) -> None:
        """End it and take back what it changed."""
        self._ours = True
        super().rollback()
        self._ours = False

    def _allowed(self, action: int, *names: str | None) -> int:
        """Whether a statement may be prepared: one that ends the transaction would end it for others too."""
        return sqlite3.SQLITE_OK if action != sqlite3.SQLITE_TRANSACTION or self._ours else sqlite3.SQLITE_DENY


class PostgresqlConnection:
    """A connection of psycopg on which every statement is prepared by the driver after a few uses."""

    kind: Kind = "postgresql"

    def __init__(self, driver: Any, begin: bytes) -> None:
        from psycopg.pq import TransactionStatus

        self._driver = driver
        self._open = TransactionStatus.INTRANS
        self._begin = begin
        self.close = driver.close

    @classmethod
    def open(cls, url: DatabaseUrl, settings: DatabaseSettings, *, write: bool) -> PostgresqlConnection:
        """A connection whose waits end: for the server, for a lock, for a network that is gone."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        patience = int(settings.busy_timeout * 1000)
        arguments: dict[str, Any] = {
            "fallback_application_name": "glados",
            "connect_timeout": settings.connect_timeout,
            "tcp_user_timeout": patience,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        }
        arguments |= conninfo_to_dict(url.dsn) | {"client_encoding": "utf8"}
        driver: Any = psycopg.connect(autocommit=True, cursor_factory=psycopg.RawCursor[Any], **arguments)
        try:
            # A server may be set to acknowledge what is not on its disk yet; whoever waits for a commit wants it there.
            driver.execute(
                f"SET lock_timeout = {patience}; SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            driver.close()
            raise
        # READ COMMITTED: an UPDATE … RETURNING waits for the row and then sees what the others made of it.
        level = b"READ COMMITTED" if write else b"REPEATABLE READ READ ONLY"
        return cls(driver, b"BEGIN ISOLATION LEVEL " + level)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        return self._driver.execute(numbered(sql), parameters)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Cursor:
        """Run one statement for each of the parameters, in one round trip."""
        cursor = self._driver.cursor()
        cursor.executemany(numbered(sql), parameters)
        return cursor

    @property
    def in_transaction(self) -> bool:
        """Not after an error: the server then takes a COMMIT for a ROLLBACK, without a word."""
        return self._driver.pgconn.transaction_status == self._open

    @property
    def socket(self) -> int:
        """The descriptor of the connection."""
        return self._driver.fileno()

    @property
    def lost(self) -> bool:
        """Whether the server has hung up."""
        return self._driver.closed

    def begin(self) -> None:
        """Begin a transaction."""
        self._driver.execute(self._begin)

    def commit(self) -> None:
        """End it and keep what it changed."""
        self._driver.execute(b"COMMIT")

    def rollback(self) -> None:
        """End it and take back what it changed."""
        self._driver.execute(b"ROLLBACK")


def open_driver(url: DatabaseUrl, settings: DatabaseSettings, *, write: bool) -> Driver:
    """A plain connection to the database, to write or only to read."""
    if url.kind == "sqlite":
        return SqliteConnection.open(url, settings, write=write)
    return PostgresqlConnection.open(url, settings, write=write)


@lru_cache(maxsize=CACHED_STATEMENTS)
def numbered(sql: str) -> bytes:
    """A statement with the placeholders of PostgreSQL in the place of question marks, if it may be run at all."""
    if _ENDING.match(sql):
        raise lost_transaction()
    numbers = itertools.count(1)

    def replaced(match: re.Match[str]) -> str:
        if match["number"] is None:
            return match[0]
        return f"${match['number'] or next(numbers)}"

    return _PARTS.sub(replaced, sql).encode()


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
