"""How far a call is, told no more often than anybody can watch; the last word is always told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PER_SECOND = 10


class Pace:
    """Lets so many through a second; of those that come too early the latest waits for its turn."""

    __slots__ = ("_interval", "_latest", "_next", "_timer")

    def __init__(self, per_second: float = PER_SECOND) -> None:
        self._interval = 1 / per_second
        self._next = 0.0
        self._latest: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, telling: Callable[[], None]) -> None:
        """Do it now, or when its turn comes, unless a later one takes its place."""
        left = self._next - time.monotonic()
        self._latest = telling
        if left <= 0:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self.flush)

    def flush(self) -> None:
        """Do at once what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        telling, self._latest = self._latest, None
        if telling is not None:
            self._next = time.monotonic() + self._interval
            telling()
