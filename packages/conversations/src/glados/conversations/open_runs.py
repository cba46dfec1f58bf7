"""Runs whose end is not written down, each held by the lease of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from glados.conversations.logs import number_of
from glados.conversations.order import take_turn
from glados.core.sessions import Draft, OpenRun, RunStart
from glados.database import Connection, DatabaseService, Lease

_RUNS = (
    "SELECT r.id, s.id, r.resumable, r.resumed, r.lease FROM conversations_runs r"
    " JOIN conversations_sessions s ON s.number = r.session"
)
_LEASES = "SELECT lease FROM conversations_runs WHERE session = ?"
_ADOPT = "UPDATE conversations_runs SET lease = ?, resumed = resumed + 1 WHERE id = ? AND lease = ?"

_Run = tuple[str, str, int, int, str]


def leases_in(connection: Connection, session: int) -> set[str]:
    """The leases of the runs that are open in a session."""
    return {row[0] for row in connection.execute(_LEASES, (session,)).fetchall()}


class Holder:
    """The runs that this process works on, and the lease that it holds them with."""

    def __init__(self, database: DatabaseService) -> None:
        self._database = database
        self._lease: Lease | None = None
        self._taking = asyncio.Lock()
        self._runs: dict[str, str] = {}

    async def lease_id(self) -> str:
        """The lease for runs that begin now; one that others saw dead holds nothing any more."""
        async with self._taking:
            if self._lease is None or self._lease.lost:
                self._lease = await self._database.lease()
            return self._lease.id

    def has(self, lease_id: str) -> bool:
        """Whether a lease is held here."""
        return self._lease is not None and self._lease.id == lease_id and not self._lease.lost

    async def dead_among(self, leases: Iterable[str]) -> set[str]:
        """Those that no process holds any more."""
        return {lease for lease in leases if not self.has(lease) and not await self._database.is_alive(lease)}

    def held_by(self, drafts: Iterable[Draft]) -> dict[str, str]:
        """The runs of this process that speak in these drafts, each with its lease."""
        runs = self._runs
        return {draft.run_id: runs[draft.run_id] for draft in drafts if draft.run_id in runs} if runs else {}

    @contextmanager
    def holding(self, run: RunStart, lease_id: str) -> Generator[None]:
        """Hold a run that is being opened; whoever is cancelled meanwhile may have opened it, and holds it on."""
        before = self._runs.get(run.id)
        self._runs[run.id] = lease_id
        try:
            yield
        except Exception:
            if before is None:
                del self._runs[run.id]
            else:
                self._runs[run.id] = before
            raise

    def ended(self, drafts: Iterable[Draft]) -> None:
        """Hold the runs no longer that these drafts have ended."""
        for draft in drafts:
            if draft.kind == "run_end" and draft.run_id is not None:
                self._runs.pop(draft.run_id, None)

    async def open_runs(self, session_id: str | None) -> list[OpenRun]:
        """The open runs of a session or of all, the oldest first."""
        runs = await self._database.query(_reading(session_id))
        return [
            OpenRun(
                id,
                session,
                bool(resumable),
                resumed,
                alive=self.has(lease) or await self._database.is_alive(lease),
                mine=self.has(lease),
            )
            for id, session, resumable, resumed, lease in runs
        ]

    async def adopt(self, run_id: str) -> bool:
        """Take over a run whose process is dead; of two who try at once, one does."""
        runs = await self._database.query(_reading(None))
        dead = next((lease for id, _, _, _, lease in runs if id == run_id), None)
        if dead is None or self.has(dead) or await self._database.is_alive(dead):
            return False
        mine = await self.lease_id()

        def change(connection: Connection) -> bool:
            take_turn(connection)
            return connection.execute(_ADOPT, (mine, run_id, dead)).rowcount == 1

        adopted = await self._database.commit(change)
        if adopted:
            self._runs[run_id] = mine
        return adopted


def _reading(session_id: str | None) -> Callable[[Connection], list[_Run]]:
    def read(connection: Connection) -> list[_Run]:
        values: tuple[Any, ...] = () if session_id is None else (number_of(connection, session_id),)
        where = " WHERE r.session = ?" if values else ""
        return connection.execute(f"{_RUNS}{where} ORDER BY r.number", values).fetchall()

    return read
