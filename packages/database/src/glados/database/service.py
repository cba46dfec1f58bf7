"""DatabaseService: short sessions that read, write, and write again after a lost race; group commits and queries."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from glados.database.drivers import Connection
from glados.database.errors import Conflict, DatabaseBusy, NestedTransaction, ReadOnlySession
from glados.database.jobs import Jobs
from glados.database.leases import Lease, Leases
from glados.database.migrations import Migrations
from glados.database.migrator import in_thread
from glados.database.reader import Reader
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl, Kind
from glados.database.writer import Writer

if TYPE_CHECKING:
    from sqlmodel.ext.asyncio.session import AsyncSession

    from glados.database.engines import Engines

T = TypeVar("T")

WRITE_TRIES = 50
LONGEST_PAUSE = 0.25


class DatabaseService:
    """The one database that all plugins share; each has tables that begin with its section."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._url = url
        self._settings = settings
        self._opened: Engines | None = None
        self._writers: set[asyncio.Task[Any]] = set()
        self._endings: set[asyncio.Task[Any]] = set()
        self._contended = asyncio.Lock()
        limit = settings.commit_queue
        self._commits = Jobs(
            "commits", lambda: Writer(url, settings), batch=settings.commit_batch, limit=limit, carry=True
        )
        self._leases = Leases(url, settings)
        self._queries = Jobs("queries", lambda: Reader(url, settings), threads=settings.pool_size, limit=limit)

    @classmethod
    @asynccontextmanager
    async def open(cls, url: DatabaseUrl, settings: DatabaseSettings) -> AsyncGenerator[DatabaseService]:
        """A service whose database was seen to work and to be ours; its connections end with the block."""
        await in_thread(Migrations(url, settings).prepare)
        service = cls(url, settings)
        try:
            yield service
        finally:
            await service.close()

    @property
    def kind(self) -> Kind:
        """`sqlite` or `postgresql`."""
        return self._url.kind

    @property
    def url(self) -> str:
        """Where the database is, without the password."""
        return self._url.shown

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[AsyncSession]:
        """A session that sees one state of the database and cannot change it."""
        async with self._session(write=False) as session:
            yield session
            if session.new or session.dirty or session.deleted:
                raise ReadOnlySession(
                    "Objects were added or changed in a session of database.read(), which would be lost:"
                    " use database.transaction() or database.write()."
                )

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncSession]:
        """A session that commits when the block ends and takes everything back when it raises; keep it short.

        A lost race raises `Conflict`, at any statement or at the end.
        """
        task = self._writer()
        self._writers.add(task)
        try:
            async with self._session(write=True) as session:
                yield session
                await self._finish(session.commit())
        finally:
            self._writers.discard(task)

    async def write(self, change: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Run `change(session)` in a transaction, and from its beginning again if it lost a race."""
        self._writer()
        deadline = asyncio.get_running_loop().time() + self._settings.write_timeout
        for attempt in itertools.count(1):
            try:
                async with self._turn(attempt, deadline), self.transaction() as session:
                    return await change(session)
            except Conflict:
                if attempt == WRITE_TRIES or asyncio.get_running_loop().time() >= deadline:
                    raise
            await asyncio.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.002 * 2**attempt)))
        raise AssertionError("unreachable")

    async def commit(self, change: Callable[[Connection], T]) -> T:
        """Run `change(connection)` in the writer's thread and give what it returns once that is on disk.

        The changes of many callers share a transaction: they are quick, and may be run again, since one that raises is
        taken back alone. On PostgreSQL a change sees what others commit meanwhile: a row that decides what is written
        is read with `UPDATE … RETURNING`. A caller who is cancelled before its change begins takes it back; later, the
        change is carried to its end first.
        """
        if self._writers:
            self._writer()
        return await self._commits.do(change)

    async def query(self, read: Callable[[Connection], T]) -> T:
        """Run `read(connection)` in a thread, on one state of the database; it returns rows and no cursor."""
        return await self._queries.do(read)

    async def lease(self) -> Lease:
        """A lock of this process, which ends when it is released or closed, or with the process, however that ends."""
        return await self._leases.take()

    async def is_alive(self, lease_id: str) -> bool:
        """Whether any process holds that lease now; asks and does not wait. One that was found dead stays dead."""
        return await self._leases.is_alive(lease_id)

    async def close(self) -> None:
        """Finish what waits to be committed, give back every lease, and end every connection."""
        await self._commits.close()
        await self._queries.close()
        await self._leases.close()
        if self._endings:
            await asyncio.wait(self._endings)
        if self._opened is not None:
            await self._opened.dispose()
            self._opened = None

    def _writer(self) -> asyncio.Task[Any]:
        """The current task, if it may begin a transaction."""
        task = asyncio.current_task()
        assert task is not None
        if task in self._writers:
            raise NestedTransaction(
                "This task holds a transaction already, and a second one would wait for it: use its session."
            )
        return task

    @asynccontextmanager
    async def _turn(self, attempt: int, deadline: float) -> AsyncGenerator[None]:
        """Let those who lost go one after the other, and newcomers behind them while they do.

        Otherwise a slow change would lose to quick ones again and again.
        """
        if attempt == 1 and not self._contended.locked():
            yield
            return
        try:
            async with asyncio.timeout_at(deadline):
                await self._contended.acquire()
        except TimeoutError:
            raise DatabaseBusy("Other writers held the database for too long: keep transactions short.") from None
        try:
            yield
        finally:
            self._contended.release()

    @asynccontextmanager
    async def _session(self, *, write: bool) -> AsyncGenerator[AsyncSession]:
        if self._opened is None:
            # SQLAlchemy is loaded here, with the first session, and off the loop: it takes a quarter of a second.
            await asyncio.to_thread(import_module, "glados.database.engines")
        from glados.database.engines import open_engines, translated

        if self._opened is None:
            self._opened = open_engines(self._url, self._settings)
        session = self._opened.session(write=write)
        with translated(self._url, write=write):
            try:
                yield session
            finally:
                await self._finish(session.close())

    async def _finish(self, ending: Coroutine[Any, Any, None]) -> None:
        """Run a commit or a rollback to its end even if the caller is cancelled, so that no connection is left open."""
        task = asyncio.ensure_future(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task})
            raise
