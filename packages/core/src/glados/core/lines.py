"""Who works in which session: one run at a time, the others wait in line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from glados.core.errors import SessionBusy
from glados.core.messages import Usage
from glados.core.results import RunResult
from glados.core.runs import Run

ABORT_TIMEOUT = 10.0  # seconds that runs get to close their history when they are aborted
MAX_WAITING = 100  # runs that may wait in one session


@dataclass(slots=True)
class _Line:
    """The runs of one session: the first one works, the others wait for their turn."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    tasks: list[asyncio.Task[RunResult]] = field(default_factory=list[asyncio.Task[RunResult]])
    working: Run | None = None


class Lines:
    """The lines of all sessions."""

    def __init__(self, ended: Callable[[str, RunResult], None]) -> None:
        self._lines: dict[str, _Line] = {}
        self._ended = ended

    def join(
        self, session_id: str, run_id: str, work: Callable[[], Coroutine[Any, Any, RunResult]]
    ) -> asyncio.Task[RunResult]:
        """Put a run at the end of a session's line, in a task named by the run's id."""
        line = self._lines.setdefault(session_id, _Line())
        if len(line.tasks) > MAX_WAITING:
            raise SessionBusy(f"More than {MAX_WAITING} prompts wait in session {session_id!r}: let some of them end.")
        task = asyncio.create_task(_in_turn(line.lock, work), name=run_id)
        line.tasks.append(task)
        task.add_done_callback(lambda task: self._leave(session_id, task))
        return task

    def works(self, session_id: str, run: Run) -> None:
        """Say which run works in a session now."""
        self._lines[session_id].working = run

    def working(self, session_id: str) -> Run | None:
        """The run that works in a session."""
        line = self._lines.get(session_id)
        return line.working if line is not None and self.tasks(session_id) else None

    def tasks(self, session_id: str) -> list[asyncio.Task[RunResult]]:
        """The runs of a session that have not ended, the one that works first."""
        line = self._lines.get(session_id)
        return [task for task in line.tasks if not task.done()] if line is not None else []

    async def abort_all(self) -> None:
        """Abort every run of every session."""
        await abort([task for line in self._lines.values() for task in line.tasks])

    def _leave(self, session_id: str, task: asyncio.Task[RunResult]) -> None:
        line = self._lines[session_id]
        line.tasks.remove(task)
        if line.working is not None and line.working.id == task.get_name():
            line.working = None
        if not line.tasks:
            del self._lines[session_id]
        if task.cancelled():
            self._ended(session_id, result_of(task, session_id))
        else:
            task.exception()  # looked at, so that one for which nobody waits is not reported as lost


async def abort(tasks: Sequence[asyncio.Task[RunResult]]) -> None:
    """Abort runs and wait until each has closed its history."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=ABORT_TIMEOUT)


async def outcome(task: asyncio.Task[RunResult], session_id: str) -> RunResult:
    """Wait for a run; cancelling whoever waits aborts it."""
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await abort([task])
        raise
    return result_of(task, session_id)


def result_of(task: asyncio.Task[RunResult], session_id: str) -> RunResult:
    """How a run ended; one that ends cancelled was aborted before it began, and has written nothing down."""
    if task.cancelled():
        return RunResult("", session_id, task.get_name(), Usage(), (), "aborted")
    return task.result()


async def _in_turn(lock: asyncio.Lock, work: Callable[[], Coroutine[Any, Any, RunResult]]) -> RunResult:
    async with lock:
        return await work()
