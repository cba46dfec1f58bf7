"""Jobs from the event loop for threads: put in one line, done in batches, told with one wake-up a batch."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from glados.database.drivers import Connection
from glados.database.errors import DatabaseUnavailable

T = TypeVar("T")

# Seconds that jobs wait before another thread helps: several threads cost quick jobs more than they give.
PATIENCE = 0.005


class Job:
    """A piece of work on a connection, and how it ended."""

    __slots__ = ("begun", "error", "future", "result", "settled", "work")

    def __init__(self, work: Callable[[Connection], Any], future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None
        self.begun = False
        self.settled = False

    def begin(self) -> bool:
        """Whether somebody still waits for it; said first and asked second, because the loop does it the other way."""
        self.begun = True
        return not self.future.cancelled()

    def settle(self) -> None:
        """Tell whoever waits, in the event loop."""
        self.settled = True
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        elif isinstance(self.error, StopIteration):
            # A future refuses it.
            self.future.set_exception(RuntimeError(f"The change raised {self.error!r}."))
        else:
            self.future.set_exception(self.error)


class Worker(Protocol):
    """What does the jobs of one thread."""

    def do(self, jobs: list[Job]) -> None:
        """Do them all and leave a result or an error in each."""
        ...

    def close(self) -> None:
        """Give up what it holds; called at the end, in the same thread."""
        ...


class Jobs:
    """A line of jobs and the threads that do them; the threads start when they are needed and end with `close`."""

    def __init__(
        self,
        name: str,
        hire: Callable[[], Worker],
        *,
        threads: int = 1,
        batch: int = 1,
        limit: int,
        carry: bool = False,
    ) -> None:
        self._name = name
        self._hire = hire
        self._most = threads
        self._batch = batch
        # Whether a caller who is cancelled after the beginning waits for the end.
        self._carry = carry
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._room = asyncio.Semaphore(limit)
        self._threads: list[threading.Thread] = []
        self._endings: list[asyncio.Future[None]] = []
        self._submitted = 0
        self._settled = 0
        self._help: asyncio.TimerHandle | None = None
        self._closed = False

    async def do(self, work: Callable[[Connection], T]) -> T:
        """Have `work` done and give what it returns; wait for a place if the line is full."""
        await self._room.acquire()
        if self._closed:
            self._room.release()
            raise DatabaseUnavailable("The database was closed: open it again before it is used.")
        loop = asyncio.get_running_loop()
        job = Job(work, loop.create_future())
        self._queue.put(job)
        self._submitted += 1
        if not self._threads:
            self._start(loop)
        elif self._help is None and len(self._threads) < self._most:
            self._help = loop.call_later(PATIENCE, self._hurry, loop, self._submitted)
        try:
            return await job.future
        except asyncio.CancelledError:
            if self._carry and job.begun and not job.settled:
                job.future = loop.create_future()
                await asyncio.wait({job.future})
                if not job.future.cancelled():
                    # Whatever it ended with, nobody waits for it any more.
                    job.future.exception()
            raise

    async def close(self) -> None:
        """Refuse what comes from now on, finish what is in the line, and end the threads."""
        if not self._closed:
            self._closed = True
            if self._help is not None:
                self._help.cancel()
            for _ in self._threads:
                self._queue.put(None)
        if self._endings:
            await asyncio.wait(self._endings)
        for thread in self._threads:
            # It has said that it ends, as the last thing it does.
            thread.join()

    def _hurry(self, loop: asyncio.AbstractEventLoop, submitted: int) -> None:
        """Start another thread if what was in the line a while ago still is."""
        self._help = None
        if self._settled < submitted and len(self._threads) < self._most:
            self._start(loop)
            self._help = loop.call_later(PATIENCE, self._hurry, loop, self._submitted)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        ending: asyncio.Future[None] = loop.create_future()
        self._endings.append(ending)
        # A daemon, because a process must be able to end whatever a statement is stuck in.
        thread = threading.Thread(target=self._main, args=(loop, ending), name=f"glados-{self._name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _main(self, loop: asyncio.AbstractEventLoop, ending: asyncio.Future[None]) -> None:
        worker = self._hire()
        try:
            while jobs := self._take():
                begun = [job for job in jobs if job.begin()]
                try:
                    if begun:
                        worker.do(begun)
                except BaseException as error:
                    for job in begun:
                        job.error = error
                _tell(loop, self._settle, jobs)
        finally:
            worker.close()
            _tell(loop, ending.set_result, None)

    def _take(self) -> list[Job]:
        """The jobs at the head of the line; none when the thread has to end."""
        first = self._queue.get()
        if first is None:
            return []
        jobs = [first]
        with contextlib.suppress(Empty):
            while len(jobs) < self._batch:
                job = self._queue.get_nowait()
                if job is None:
                    self._queue.put(None)
                    break
                jobs.append(job)
        return jobs

    def _settle(self, jobs: list[Job]) -> None:
        self._settled += len(jobs)
        for job in jobs:
            job.settle()
            self._room.release()


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[Any], object], argument: object) -> None:
    # A loop that is closed has nobody left who waits.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, argument)
