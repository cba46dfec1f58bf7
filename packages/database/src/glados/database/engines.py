"""SQLAlchemy's engines: one that writes, one that cannot, and what their errors mean.

This module imports SQLAlchemy and SQLModel, so it is loaded with the first session and not before.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.orm.exc import StaleDataError
from sqlmodel.ext.asyncio.session import AsyncSession

from glados.core import GladosError
from glados.database.connections import READ_PRAGMAS, WRITE_PRAGMAS, unreachable
from glados.database.errors import Conflict, DatabaseBusy
from glados.database.failures import meaning
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl


@dataclass(frozen=True, slots=True)
class Engines:
    """The two ways into one database."""

    writing: AsyncEngine
    reading: AsyncEngine

    def session(self, *, write: bool) -> AsyncSession:
        """A session whose objects stay usable after its end."""
        return AsyncSession(self.writing if write else self.reading, expire_on_commit=False)

    async def dispose(self) -> None:
        """Close every connection."""
        await self.reading.dispose()
        await self.writing.dispose()


def open_engines(url: DatabaseUrl, settings: DatabaseSettings) -> Engines:
    """The engines of a database; they connect when they are first used."""
    if url.kind == "sqlite":
        return Engines(
            _sqlite(url, settings, "rw", WRITE_PRAGMAS, "BEGIN IMMEDIATE"),
            _sqlite(url, settings, "ro", READ_PRAGMAS, "BEGIN"),
        )
    from psycopg.conninfo import conninfo_to_dict

    # libpq reads the address, so that everything it allows works here as in psql.
    arguments: dict[str, Any] = {"fallback_application_name": "glados", "connect_timeout": settings.connect_timeout}
    arguments |= conninfo_to_dict(url.dsn)
    engine = create_async_engine(
        "postgresql+psycopg://",
        connect_args=arguments,
        # A server that was restarted must not fail the next request.
        pool_pre_ping=True,
        **_pool(settings),
    )
    # SERIALIZABLE, because code that reads and then writes is right on SQLite and must be right here too.
    return Engines(
        engine.execution_options(isolation_level="SERIALIZABLE"),
        engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
    )


def _sqlite(
    url: DatabaseUrl, settings: DatabaseSettings, mode: str, pragmas: tuple[str, ...], begin: str
) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=url.path.as_uri(), query={"mode": mode, "uri": "true"}),
        # sqlite3 would begin transactions by itself, and too late.
        connect_args={"isolation_level": None, "timeout": settings.busy_timeout},
        **_pool(settings),
    )

    def on_connect(connection: Any, record: object) -> None:
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", on_connect)
    event.listen(engine.sync_engine, "begin", on_begin)
    return engine


def _pool(settings: DatabaseSettings) -> dict[str, Any]:
    from sqlalchemy.pool import AsyncAdaptedQueuePool

    return {
        "poolclass": AsyncAdaptedQueuePool,
        "pool_size": settings.pool_size,
        "max_overflow": 0,
        "pool_timeout": settings.pool_timeout,
    }


@contextmanager
def translated(url: DatabaseUrl, *, write: bool) -> Generator[None]:
    """Turn what SQLAlchemy raises into errors that say who must act; what is the plugin's own passes."""
    try:
        yield
    except (DBAPIError, StaleDataError, PoolTimeout) as error:
        failure = _meaning(url, error, write=write)
        if failure is None:
            raise
        raise failure from error


def _meaning(url: DatabaseUrl, error: Exception, *, write: bool) -> GladosError | None:
    if isinstance(error, StaleDataError):
        return Conflict("A row was changed or deleted by somebody else in the meantime: read it and try again.")
    if isinstance(error, PoolTimeout):
        return DatabaseBusy(
            "Every connection to the database was in use for too long: keep transactions short,"
            " or raise DATABASE_POOL_SIZE."
        )
    cause = getattr(error, "orig", None)
    if url.kind == "postgresql" and getattr(error, "connection_invalidated", False):
        return unreachable(url, error if cause is None else cause)
    failure = meaning(url, cause, write=write)
    # A session that waited for a lock in vain has lost a race like any other, and `write` tries again.
    return Conflict(failure.message) if isinstance(failure, DatabaseBusy) else failure
