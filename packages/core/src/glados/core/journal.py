"""What a run writes down and tells: every entry is stored first, then told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from glados.core.bus import EventBus
from glados.core.errors import RunLost
from glados.core.events import EntryCreated, Event, MessageCreated
from glados.core.messages import Message, unanswered
from glados.core.session_entries import shown_message
from glados.core.sessions import Charge, Draft, Entry, RunStart, Session, SessionStore
from glados.core.shielding import ended
from glados.core.taint import Taint


class Journal:
    """The log of one run in its session; `messages` is what the model reads next, `lost` why nothing can be written.

    The first entry opens the run, if it `opens` one; `on_lost` hears that somebody else has taken the run over.
    """

    def __init__(
        self, session: Session, run_id: str, store: SessionStore, bus: EventBus, on_lost: Callable[[], None]
    ) -> None:
        self.session_id = session.id
        self.run_id = run_id
        self.opens: RunStart | None = None
        self.lost: RunLost | None = None
        self.messages: list[Message] = []
        self.entries: list[Entry] = []
        self.taint = Taint(tainted=session.tainted)
        self._store = store
        self._bus = bus
        self._on_lost = on_lost
        self._owed: tuple[Charge, ...] = ()
        self._notes: list[Message] = []
        self._n = 0

    async def load(self, rebuild: Callable[[Sequence[Entry]], list[Message]]) -> None:
        """Read the branch that the run goes on with."""
        self.entries = list(await self._store.branch(self.session_id))
        self.messages = rebuild(self.entries)
        if unanswered(self.messages):  # notes wait for the results, which are about to come
            while self.messages[-1].role == "user":
                self._notes.insert(0, self.messages.pop())
        self.taint.read(self.entries)

    @property
    def is_open(self) -> bool:
        """Whether the run is ours to write to: it was opened, its branch was read, and nobody has taken it over."""
        return self.opens is None and self.lost is None and bool(self.entries)

    def owe(self, charge: Charge) -> None:
        """Count a model call that has no entry of its own: it rides on the next one."""
        self._owed = (*self._owed, charge)

    async def say(self, message: Message, *, id: str | None = None, charges: tuple[Charge, ...] = ()) -> Entry:
        """Write a message down, then tell it."""
        return await self.record(Draft("message", message, self.run_id, id=id, charges=charges))

    async def record(self, draft: Draft) -> Entry:
        """Append one entry."""
        (entry,) = await self.record_all((draft,))
        return entry

    async def record_all(self, drafts: Sequence[Draft]) -> Sequence[Entry]:
        """Append entries in one step; an abort in the middle waits until it is known whether they are there."""
        appending = asyncio.ensure_future(self._append(drafts))
        try:
            return await asyncio.shield(appending)
        except asyncio.CancelledError:
            await ended(appending)
            raise

    def publish(self, kind: Callable[..., Event], **fields: Any) -> None:
        """Tell something that happened in this run."""
        self._bus.publish(kind(session_id=self.session_id, run_id=self.run_id, **fields))

    def next_n(self) -> int:
        """The number of the next event that is told but not stored."""
        self._n += 1
        return self._n

    async def _append(self, drafts: Sequence[Draft]) -> Sequence[Entry]:
        if self.lost is not None:
            raise self.lost
        owed, self._owed = self._owed, ()
        if owed:
            drafts = (replace(drafts[0], charges=(*owed, *drafts[0].charges)), *drafts[1:])
        try:
            entries = await self._store.append(self.session_id, drafts, opens=self.opens)
        except Exception as error:
            self._owed = (*owed, *self._owed)
            if isinstance(error, RunLost):
                self.lost = error
                self._on_lost()
            raise
        self.opens = None
        self.entries.extend(entries)
        self.taint.read(entries)
        for entry in entries:
            self._take_in(entry)
        return entries

    def _take_in(self, entry: Entry) -> None:
        """Let the model read a new entry, and tell it here, where no abort comes in between.

        Who counts by seq must not miss what is stored.
        """
        payload = entry.payload
        if isinstance(payload, Message):
            self.messages.append(payload)
            self.publish(MessageCreated, entry_id=entry.id, message=payload, seq=entry.seq)
        elif entry.kind == "custom" and "type" in payload:
            note = shown_message(entry)
            if note is not None:
                self._notes.append(note)
            self.publish(EntryCreated, entry_id=entry.id, entry=payload, seq=entry.seq)
        if self._notes and not unanswered(self.messages):  # nothing may stand between a call and its result
            self.messages += self._notes
            self._notes.clear()
