"""Sessions: an append-only log of entries each, a tree by `parent_id`; and the seam to where they live."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from glados.core.errors import EntryNotFound, SessionBusy, SessionNotFound
from glados.core.messages import Message, Usage

EntryKind = Literal[
    "message",
    "permission_question",
    "permission_answer",
    "model_change",
    "compaction",
    "artifact",
    "custom",
    "run_resume",
    "run_end",
]
Order = Literal["created", "updated"]


@dataclass(frozen=True, slots=True)
class Charge:
    """One model call: its model, its tokens and its price in US dollars; what is not known is None."""

    model: str
    usage: Usage | None
    cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """The charge as JSON."""
        return {"model": self.model, "usage": self.usage.to_dict() if self.usage else None, "cost": self.cost}


@dataclass(frozen=True, slots=True)
class ModelCost:
    """All calls of one model in a session and in the sessions below it; an unknown price makes the sum unknown."""

    model: str
    calls: int
    usage: Usage
    cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """The sums as JSON."""
        return {"model": self.model, "calls": self.calls, "usage": self.usage.to_dict(), "cost": self.cost}


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation; `seq` is the number of its last entry and `head` the entry that the next one follows.

    `usage` and `cost` add up all model calls in it and in the sessions below it; `tainted` is one whose history came
    from outside.
    """

    id: str
    title: str | None
    created_at: str
    updated_at: str
    parent_id: str | None = None
    principal: str = "local"
    seq: int = 0
    head: str | None = None
    tags: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    forked_from: str | None = None
    tainted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The session as JSON."""
        data = {name: getattr(self, name) for name in self.__slots__}
        return {**data, "tags": list(self.tags), "usage": self.usage.to_dict()}


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before the store has numbered it; `payload` is a Message, or JSON of the kind's own.

    An `id` is given where others have to know it before the entry is stored; `charges` are the model calls behind it.
    """

    kind: EntryKind
    payload: Message | dict[str, Any]
    run_id: str | None = None
    principal: str = "local"
    id: str | None = None
    charges: tuple[Charge, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a session's log, numbered from 1 without gaps; `origin_id` is the entry that it was copied from."""

    id: str
    session_id: str
    seq: int
    parent_id: str | None
    kind: EntryKind
    payload: Message | dict[str, Any]
    created_at: str
    run_id: str | None = None
    principal: str = "local"
    origin_id: str | None = None
    charges: tuple[Charge, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON; what most entries do not have is told only where it is."""
        payload = self.payload.to_dict() if isinstance(self.payload, Message) else self.payload
        told: dict[str, Any] = {
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
        if self.origin_id is not None:
            told["origin_id"] = self.origin_id
        if self.charges:
            told["charges"] = [charge.to_dict() for charge in self.charges]
        return told


@dataclass(frozen=True, slots=True)
class RunStart:
    """A run that begins with an append; one that is resumable goes on after a crash, any other is closed then."""

    id: str
    resumable: bool = False


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run whose end is not written down; `alive` says whether the process that works on it lives."""

    id: str
    session_id: str
    resumable: bool
    resumed: int
    alive: bool
    mine: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A message that a search found; `snippet` is the text around it."""

    session_id: str
    title: str | None
    entry_id: str
    seq: int
    role: str
    snippet: str
    created_at: str

    def to_dict(self) -> dict[str, Any]:
        """What was found, as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class SessionStore(Protocol):
    """Where sessions live; what has returned is as durable as the store can make it.

    `services.provide(SessionStore, …, replace=True)` brings another one; `glados.core.testing.SessionStoreConformance`
    says what each must do.
    """

    async def create(
        self, *, title: str | None = None, parent_id: str | None = None, id: str | None = None, tags: Sequence[str] = ()
    ) -> Session:
        """Begin a session; SessionExists if the id is taken."""
        ...

    async def get(self, session_id: str) -> Session:
        """One session, or SessionNotFound."""
        ...

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
        """Sessions, the newest first, behind the one of id `before`.

        `roots` leaves out those that agents started, `title` is a part of the title in upper or lower case.
        """
        ...

    async def children(self, session_id: str) -> list[Session]:
        """The sessions of the agents that a session started, the oldest first."""
        ...

    async def append(
        self, session_id: str, drafts: Sequence[Draft], *, opens: RunStart | None = None
    ) -> Sequence[Entry]:
        """Number the drafts and add them behind the session's head, all or none; charges count here and above.

        `opens` marks a run as open in the same step: SessionBusy if another one is open in the session. A `run_end`
        closes the run that it names. A run that was taken over by somebody else cannot append: RunLost.
        """
        ...

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """The log behind a number, in order, all branches together."""
        ...

    async def branch(self, session_id: str) -> Sequence[Entry]:
        """The entries from the first to the session's head."""
        ...

    async def rename(self, session_id: str, title: str) -> Session:
        """Give a session another title."""
        ...

    async def tag(self, session_id: str, tags: Sequence[str]) -> Session:
        """Give a session these tags instead of those that it has."""
        ...

    async def switch(self, session_id: str, entry_id: str | None) -> Session:
        """Let the next entry follow this one instead of the head; None begins anew. EntryNotFound if it has none.

        SessionBusy while a run works in the session, here or in another process: it goes on behind the head.
        """
        ...

    async def fork(self, session_id: str, *, at: str | None = None, title: str | None = None) -> Session:
        """A new session with the branch up to an entry, or to the head, copied and numbered anew; it cost nothing."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a session and those below it in one step; SessionBusy while another process works in one of them."""
        ...

    async def search(self, text: str, *, limit: int = 20, session_id: str | None = None) -> list[Found]:
        """Prompts and answers with all of these words, the best first."""
        ...

    async def costs(self, session_id: str) -> list[ModelCost]:
        """What was spent in a session and below it, by model, in the order of the names."""
        ...

    async def restore(self, logs: Sequence[tuple[Session, Sequence[Entry]]]) -> list[Session]:
        """Bring sessions back as they were exported, their charges too, each behind its parent, all or none.

        SessionExists if there is one of those ids.
        """
        ...

    async def open_runs(self, session_id: str | None = None) -> list[OpenRun]:
        """The runs that have not ended, of one session or of all, the oldest first."""
        ...

    async def adopt(self, run_id: str) -> bool:
        """Take over a run whose process is dead, and count one more resumption; False if somebody else was faster."""
        ...


def session_not_found(session_id: str) -> SessionNotFound:
    """The error of every store."""
    return SessionNotFound(
        f"There is no session {session_id!r}: list them, or leave the id out to begin one.", session_id=session_id
    )


def entry_not_found(session_id: str, entry_id: str) -> EntryNotFound:
    """The error of every store."""
    return EntryNotFound(
        f"Session {session_id!r} has no entry {entry_id!r}: list its entries.", session_id=session_id, entry_id=entry_id
    )


def session_works(session_id: str) -> SessionBusy:
    """The error of every store."""
    return SessionBusy(f"A run works in session {session_id!r}: wait for it, or abort it.", session_id=session_id)


def new_id() -> str:
    """A new id, unique everywhere."""
    return uuid.uuid4().hex


def timestamp() -> str:
    """Now, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
