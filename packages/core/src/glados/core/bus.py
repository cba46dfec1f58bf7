"""The bus that tells what happened to everybody who listens."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from glados.core.errors import GladosError
from glados.core.events import Event

MAX_PENDING = 10_000


class SlowSubscriber(GladosError):
    """A subscriber fell too far behind and was cut off."""

    code = "slow_subscriber"


class Subscription:
    """The events of one session, or of all, for one reader; it is cut off when it falls too far behind."""

    def __init__(self, bus: EventBus, session_id: str | None, max_pending: int) -> None:
        self._bus = bus
        self._session_id = session_id
        self._max_pending = max_pending
        self._pending: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._cut_off = False
        self._closed = False

    def offer(self, event: Event) -> None:
        """Take an event, if it is one that this reader wants."""
        if self._session_id is not None and event.session_id != self._session_id:
            return
        if len(self._pending) >= self._max_pending:
            self._cut_off = True
            self._bus.unsubscribe(self)
        else:
            self._pending.append(event)
        self._wake.set()

    async def next(self) -> Event:
        """The next event, when there is one; a closed subscription ends behind its last."""
        while not self._pending:
            if self._cut_off:
                raise SlowSubscriber(
                    f"More than {self._max_pending} events were waiting: read on from the entries of the session."
                )
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._pending.popleft()

    def close(self) -> None:
        """Hear nothing more; what waits can still be read."""
        self._bus.unsubscribe(self)
        self._closed = True
        self._wake.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Event:
        return await self.next()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EventBus:
    """Tells every subscriber what happened; publishing never waits."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def publish(self, event: Event) -> None:
        """Tell everybody who listens now."""
        for subscription in tuple(self._subscriptions):
            subscription.offer(event)

    def subscribe(self, session_id: str | None = None, *, max_pending: int = MAX_PENDING) -> Subscription:
        """Listen from now on; use it in a `with` block."""
        subscription = Subscription(self, session_id, max_pending)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop listening."""
        self._subscriptions.discard(subscription)
