"""Sessions: an append-only log of entries each, a tree by `parent_id`; kept in memory here."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from glados.core.errors import SessionNotFound
from glados.core.messages import Message

EntryKind = Literal[
    "message", "permission_question", "permission_answer", "model_change", "compaction", "artifact", "custom", "run_end"
]


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation; `seq` is the number of its last entry and `head` that entry's id."""

    id: str
    title: str | None
    created_at: str
    updated_at: str
    parent_id: str | None = None
    principal: str = "local"
    seq: int = 0
    head: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The session as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before the store has numbered it; `payload` is a Message, or JSON of the kind's own."""

    kind: EntryKind
    payload: Message | dict[str, Any]
    run_id: str | None = None
    principal: str = "local"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a session's log, numbered from 1 without gaps."""

    id: str
    session_id: str
    seq: int
    parent_id: str | None
    kind: EntryKind
    payload: Message | dict[str, Any]
    created_at: str
    run_id: str | None = None
    principal: str = "local"

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON."""
        payload = self.payload.to_dict() if isinstance(self.payload, Message) else self.payload
        return {
            "id": self.id,
            "session_id": self.session_id,
            "seq": self.seq,
            "parent_id": self.parent_id,
            "kind": self.kind,
            "payload": payload,
            "created_at": self.created_at,
            "run_id": self.run_id,
            "principal": self.principal,
        }


class SessionStore(Protocol):
    """Where sessions live; an append that returned is as durable as the store can make it."""

    async def create(self, *, title: str | None = None, parent_id: str | None = None) -> Session: ...

    async def get(self, session_id: str) -> Session: ...

    async def list(self, *, limit: int = 50, before: str | None = None) -> list[Session]: ...

    async def append(self, session_id: str, drafts: Sequence[Draft]) -> Sequence[Entry]: ...

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]: ...

    async def children(self, session_id: str) -> list[Session]: ...

    async def rename(self, session_id: str, title: str) -> Session: ...

    async def delete(self, session_id: str) -> None: ...


@dataclass(slots=True)
class _Log:
    session: Session
    entries: list[Entry] = field(default_factory=list[Entry])


class MemorySessionStore:
    """Sessions that last as long as the process."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}

    async def create(self, *, title: str | None = None, parent_id: str | None = None) -> Session:
        """Begin a session."""
        now = timestamp()
        session = Session(new_id(), title, now, now, parent_id)
        self._logs[session.id] = _Log(session)
        return session

    async def get(self, session_id: str) -> Session:
        """One session."""
        return self._log(session_id).session

    async def list(self, *, limit: int = 50, before: str | None = None) -> list[Session]:
        """Sessions, the newest first, `before` the one of that id."""
        sessions = [log.session for log in reversed(self._logs.values())]
        if before is not None:
            sessions = sessions[sessions.index(self._log(before).session) + 1 :]
        return sessions[:limit]

    async def append(self, session_id: str, drafts: Sequence[Draft]) -> Sequence[Entry]:
        """Number the drafts and add them behind the session's head."""
        log, now = self._log(session_id), timestamp()
        session, added = log.session, list[Entry]()
        seq, head = session.seq, session.head
        for draft in drafts:
            seq += 1
            entry = Entry(
                new_id(), session_id, seq, head, draft.kind, draft.payload, now, draft.run_id, draft.principal
            )
            head = entry.id
            added.append(entry)
        log.entries.extend(added)
        log.session = replace(session, seq=seq, head=head, updated_at=now)
        return added

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """The entries behind a number, in order."""
        first = max(after, 0)
        return self._log(session_id).entries[first : None if limit is None else first + limit]

    async def children(self, session_id: str) -> list[Session]:
        """The sessions of the agents that a session started."""
        return [log.session for log in self._logs.values() if log.session.parent_id == session_id]

    async def rename(self, session_id: str, title: str) -> Session:
        """Give a session another title."""
        log = self._log(session_id)
        log.session = replace(log.session, title=title)
        return log.session

    async def delete(self, session_id: str) -> None:
        """Forget a session."""
        self._log(session_id)
        del self._logs[session_id]

    def _log(self, session_id: str) -> _Log:
        log = self._logs.get(session_id)
        if log is None:
            raise SessionNotFound(
                f"There is no session {session_id!r}: list them, or leave the id out to begin one.",
                session_id=session_id,
            )
        return log


def new_id() -> str:
    """A new id, unique everywhere."""
    return uuid.uuid4().hex


def timestamp() -> str:
    """Now, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
