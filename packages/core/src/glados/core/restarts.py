"""Runs that a dead process has left open: they go on, or they are closed; every call has its one result then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from glados.core.bus import EventBus
from glados.core.errors import GladosError, SessionBusy
from glados.core.events import MessageCreated, PermissionRefused, RunFinished
from glados.core.foreign import failure
from glados.core.messages import Message
from glados.core.sessions import Entry, OpenRun, Session, SessionStore
from glados.core.standing import Standing, closing

log = logging.getLogger("glados.restarts")
LOOK_AGAIN = 1.0  # seconds between two looks at the runs of other processes
DIED = "the process that worked on it died"


class Restarts:
    """Looks after open runs; `resume` lets one go on in its session."""

    def __init__(
        self, store: SessionStore, bus: EventBus, max_resumed: int, resume: Callable[[Session, OpenRun, str], None]
    ) -> None:
        self._store = store
        self._bus = bus
        self._max_resumed = max_resumed
        self._resume = resume
        self._others: set[str] = set()
        self._watching: asyncio.Task[None] | None = None

    async def recover(self) -> None:
        """Let every run whose process is dead go on, or close it; one that can be neither stops no other."""
        runs = await self._store.open_runs()
        self._others = {run.id for run in runs if run.alive and not run.mine}
        await self._recover_all([run for run in runs if not run.alive])
        self._watching = asyncio.create_task(self._watch())

    def stop(self) -> None:
        """Take over nothing more."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        """Look again at the runs of other processes until each has ended: a server may hear late that one is dead."""
        while self._others:
            await asyncio.sleep(LOOK_AGAIN)
            try:
                runs = [run for run in await self._store.open_runs() if run.id in self._others]
            except GladosError as error:
                log.warning("the runs of other processes cannot be looked at now: %s", error.message)
                continue
            self._others = {run.id for run in runs if run.alive and not run.mine}
            await self._recover_all([run for run in runs if not run.alive])

    async def clear(self, session: Session) -> None:
        """Close what is left open in a session whose turn it is, before its next run begins."""
        for run in await self._store.open_runs(session.id) if session.seq else ():
            if not run.mine and (run.alive or not await self._store.adopt(run.id)):
                raise SessionBusy(
                    f"Another process works in session {session.id!r}: wait until it is done, or stop it there.",
                    session_id=session.id,
                )
            await self.close(run, "its end could not be written down" if run.mine else DIED)

    async def close(self, run: OpenRun, why: str) -> None:
        """End a run in one step: a result for each call, an answer for each question, and the end."""
        branch = await self._store.branch(run.session_id)
        end = {"run_id": run.id, "stop": "interrupted", "error": None, "why": why}
        entries = await self._store.append(run.session_id, closing(branch, run.id, end))
        self._tell(run, Standing.of((*branch, *entries), run.id), entries)

    async def _recover_all(self, runs: Sequence[OpenRun]) -> None:
        for run in runs:
            try:
                await self._recover(run)
            except Exception as error:
                told = failure(f"Run {run.id!r}", error).message
                log.warning("what is left of session %r stays as it is: %s", run.session_id, told)

    async def _recover(self, run: OpenRun) -> None:
        if not await self._store.adopt(run.id):
            return  # somebody else was faster
        if not run.resumable:
            await self.close(run, DIED)
        elif run.resumed >= self._max_resumed:
            await self.close(run, f"{DIED}, and it was resumed {run.resumed} times before (MODEL_MAX_RESUMED)")
        elif any(entry.run_id == run.id for entry in await self._store.branch(run.session_id)):
            self._resume(await self._store.get(run.session_id), run, DIED)
        else:
            await self.close(run, f"{DIED}, and its session has gone on from another entry")

    def _tell(self, run: OpenRun, stood: Standing, entries: Sequence[Entry]) -> None:
        for entry in entries:
            told: dict[str, Any] = {"session_id": run.session_id, "run_id": run.id, "seq": entry.seq}
            payload, progress = entry.payload, stood.progress
            if isinstance(payload, Message):
                self._bus.publish(MessageCreated(entry_id=entry.id, message=payload, **told))
            elif entry.kind == "permission_answer":
                refused = {"question_id": payload["id"], "why": payload["why"], "principal": payload["principal"]}
                self._bus.publish(PermissionRefused(**refused, **told))
            else:
                result = progress.result(run.session_id, run.id, "interrupted")
                self._bus.publish(RunFinished(result=result.to_dict(), **told))
