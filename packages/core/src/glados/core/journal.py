"""What a run writes down and tells: every entry is stored first, then told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from glados.core.bus import EventBus
from glados.core.events import Event, MessageCreated
from glados.core.messages import Message
from glados.core.sessions import Draft, Entry, SessionStore
from glados.core.shielding import ended
from glados.core.taint import Taint


class Journal:
    """The log of one run in its session; `messages` is what the model reads next."""

    def __init__(self, session_id: str, run_id: str, store: SessionStore, bus: EventBus) -> None:
        self.session_id = session_id
        self.run_id = run_id
        self.messages: list[Message] = []
        self.entries: list[Entry] = []
        self.taint = Taint()
        self._store = store
        self._bus = bus
        self._n = 0

    async def load(self, rebuild: Callable[[Sequence[Entry]], list[Message]]) -> None:
        """Read what the session holds so far."""
        self.entries = list(await self._store.entries(self.session_id))
        self.messages = rebuild(self.entries)
        self.taint.read(self.entries)

    async def say(self, message: Message) -> Entry:
        """Write a message down, then tell it."""
        return await self.record(Draft("message", message, self.run_id))

    async def record(self, draft: Draft) -> Entry:
        """Append one entry; an abort in the middle waits until it is known whether the entry is there."""
        appending = asyncio.ensure_future(self._append(draft))
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

    async def _append(self, draft: Draft) -> Entry:
        (entry,) = await self._store.append(self.session_id, [draft])
        self.entries.append(entry)
        self.taint.read((entry,))
        if isinstance(draft.payload, Message):
            self.messages.append(draft.payload)
            # Told here, where no abort comes in between: who counts by seq must not miss what is stored.
            self.publish(MessageCreated, entry_id=entry.id, message=draft.payload, seq=entry.seq)
        return entry
