"""Sessions in memory: they last as long as the process, and show what every store has to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from glados.core.branches import check_log, copied, path
from glados.core.errors import SessionBusy, SessionExists
from glados.core.messages import Usage
from glados.core.searching import best, hit, words_of
from glados.core.sessions import (
    Charge,
    Draft,
    Entry,
    Found,
    ModelCost,
    OpenRun,
    Order,
    RunStart,
    Session,
    entry_not_found,
    new_id,
    session_not_found,
    session_works,
    timestamp,
)


@dataclass(slots=True)
class _Log:
    session: Session
    entries: list[Entry] = field(default_factory=list[Entry])
    costs: dict[str, ModelCost] = field(default_factory=dict[str, ModelCost])
    run: RunStart | None = None


class MemorySessionStore:
    """Sessions that last as long as the process."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}

    async def create(
        self, *, title: str | None = None, parent_id: str | None = None, id: str | None = None, tags: Sequence[str] = ()
    ) -> Session:
        """Begin a session."""
        if parent_id is not None:
            self._log(parent_id)
        now = timestamp()
        return self._add(Session(id or new_id(), title, now, now, parent_id, tags=tuple(dict.fromkeys(tags)))).session

    async def get(self, session_id: str) -> Session:
        """One session."""
        return self._log(session_id).session

    async def list(
        self,
        *,
        limit: int = 50,
        before: str | None = None,
        order: Order = "created",
        roots: bool = False,
        tag: str | None = None,
        title: str | None = None,
    ) -> list[Session]:
        """Sessions, the newest first, behind the one of id `before`."""
        sessions = [log.session for log in reversed(self._logs.values())]
        if order == "updated":
            sessions.sort(key=lambda session: session.updated_at, reverse=True)
        if before is not None:
            sessions = sessions[sessions.index(self._log(before).session) + 1 :]
        return [session for session in sessions if _fits(session, roots, tag, title)][:limit]

    async def children(self, session_id: str) -> list[Session]:
        """The sessions of the agents that a session started."""
        return [log.session for log in self._logs.values() if log.session.parent_id == session_id]

    async def append(
        self, session_id: str, drafts: Sequence[Draft], *, opens: RunStart | None = None
    ) -> Sequence[Entry]:
        """Number the drafts and add them behind the session's head."""
        log, now = self._log(session_id), timestamp()
        if opens is not None:
            if log.run is not None:
                raise SessionBusy(f"Another run works in session {session_id!r}: wait for it.", session_id=session_id)
            log.run = opens
        session, added = log.session, list[Entry]()
        seq, head = session.seq, session.head
        for draft in drafts:
            seq += 1
            entry = Entry(
                draft.id or new_id(),
                session_id,
                seq,
                head,
                draft.kind,
                draft.payload,
                now,
                draft.run_id,
                draft.principal,
                charges=draft.charges,
            )
            head = entry.id
            added.append(entry)
            if draft.kind == "run_end" and log.run is not None and log.run.id == draft.run_id:
                log.run = None
        log.entries.extend(added)
        log.session = replace(session, seq=seq, head=head, updated_at=now)
        self._charge(session_id, [charge for draft in drafts for charge in draft.charges])
        return added

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """The entries behind a number, in order."""
        first = max(after, 0)
        return self._log(session_id).entries[first : None if limit is None else first + limit]

    async def branch(self, session_id: str) -> Sequence[Entry]:
        """The entries from the first to the session's head."""
        log = self._log(session_id)
        return tuple(path(log.entries, log.session.head))

    async def rename(self, session_id: str, title: str) -> Session:
        """Give a session another title."""
        return self._change(session_id, title=title)

    async def tag(self, session_id: str, tags: Sequence[str]) -> Session:
        """Give a session these tags instead of those that it has."""
        return self._change(session_id, tags=tuple(dict.fromkeys(tags)))

    async def switch(self, session_id: str, entry_id: str | None) -> Session:
        """Let the next entry follow this one instead of the head."""
        if self._log(session_id).run is not None:
            raise session_works(session_id)
        if entry_id is not None:
            self._entry(session_id, entry_id)
        return self._change(session_id, head=entry_id)

    async def fork(self, session_id: str, *, at: str | None = None, title: str | None = None) -> Session:
        """A new session with a copy of the branch."""
        log, now = self._log(session_id), timestamp()
        old = log.session
        head = old.head if at is None else self._entry(session_id, at).id
        session = Session(
            new_id(), title or old.title, now, now, tags=old.tags, forked_from=old.id, tainted=old.tainted
        )
        entries = copied(path(log.entries, head), session.id)
        fork = self._add(replace(session, seq=len(entries), head=entries[-1].id if entries else None))
        fork.entries.extend(entries)
        return fork.session

    async def delete(self, session_id: str) -> None:
        """Forget a session and those below it."""
        self._log(session_id)
        for child in await self.children(session_id):
            await self.delete(child.id)
        del self._logs[session_id]

    async def search(self, text: str, *, limit: int = 20, session_id: str | None = None) -> list[Found]:
        """Prompts and answers with all of these words; of equal ones the newest first."""
        words = words_of(text)
        logs = [self._log(session_id)] if session_id is not None else list(reversed(self._logs.values()))
        hits = (hit(entry, log.session.title, words) for log in logs for entry in reversed(log.entries))
        found = sorted((one for one in hits if one is not None), key=lambda one: one[1].created_at, reverse=True)
        return best(found, limit)

    async def costs(self, session_id: str) -> list[ModelCost]:
        """What was spent in a session and below it."""
        costs = self._log(session_id).costs
        return [costs[model] for model in sorted(costs)]

    async def restore(self, logs: Sequence[tuple[Session, Sequence[Entry]]]) -> list[Session]:
        """Bring sessions back as they were exported."""
        taken = set(self._logs)
        for session, entries in logs:
            check_log(session, entries)
            if session.id in taken:
                raise _exists(session.id)
            taken.add(session.id)
        for session, entries in logs:
            parent = session.parent_id if session.parent_id in self._logs else None
            self._add(replace(session, parent_id=parent, usage=Usage(), cost=0.0)).entries.extend(entries)
            self._charge(session.id, [charge for entry in entries for charge in entry.charges])
        return [self._logs[session.id].session for session, _ in logs]

    async def open_runs(self, session_id: str | None = None) -> list[OpenRun]:
        """The runs that have not ended."""
        logs = self._logs.values() if session_id is None else [self._log(session_id)]
        return [
            OpenRun(log.run.id, log.session.id, log.run.resumable, 0, alive=True, mine=True)
            for log in logs
            if log.run is not None
        ]

    async def adopt(self, run_id: str) -> bool:
        """Nothing is left here by a process that died."""
        return False

    def _add(self, session: Session) -> _Log:
        if session.id in self._logs:
            raise _exists(session.id)
        self._logs[session.id] = log = _Log(session)
        return log

    def _log(self, session_id: str) -> _Log:
        log = self._logs.get(session_id)
        if log is None:
            raise session_not_found(session_id)
        return log

    def _entry(self, session_id: str, entry_id: str) -> Entry:
        found = next((entry for entry in self._log(session_id).entries if entry.id == entry_id), None)
        if found is None:
            raise entry_not_found(session_id, entry_id)
        return found

    def _change(self, session_id: str, **changes: object) -> Session:
        log = self._log(session_id)
        log.session = replace(log.session, **changes)  # pyright: ignore[reportArgumentType]
        return log.session

    def _charge(self, session_id: str, charges: Sequence[Charge]) -> None:
        """Count model calls in a session and in all above it."""
        for log in self._upwards(session_id) if charges else ():
            for charge in charges:
                usage, session = charge.usage or Usage(), log.session
                before = log.costs.get(charge.model) or ModelCost(charge.model, 0, Usage(), 0.0)
                log.costs[charge.model] = ModelCost(
                    charge.model, before.calls + 1, before.usage + usage, _sum(before.cost, charge.cost)
                )
                log.session = replace(session, usage=session.usage + usage, cost=_sum(session.cost, charge.cost))

    def _upwards(self, session_id: str | None) -> Iterator[_Log]:
        while session_id is not None and session_id in self._logs:
            yield self._logs[session_id]
            session_id = self._logs[session_id].session.parent_id


def _exists(session_id: str) -> SessionExists:
    return SessionExists(f"There is a session {session_id!r} already.", session_id=session_id)


def _fits(session: Session, roots: bool, tag: str | None, title: str | None) -> bool:
    if (roots and session.parent_id is not None) or (tag is not None and tag not in session.tags):
        return False
    return title is None or title.lower() in (session.title or "").lower()


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
