"""Places, of which there are so many: who finds none waits, and a deadline that ends that can be told from others."""

from __future__ import annotations

import asyncio
from types import TracebackType

_WAITING = "waiting for a place"


class Places:
    """Lets so many in at a time, in the order in which they came."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)

    async def __aenter__(self) -> None:
        try:
            await self._free.acquire()
        except asyncio.CancelledError as error:
            raise asyncio.CancelledError(_WAITING) from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._free.release()


def ended_waiting(error: TimeoutError) -> bool:
    """Whether a deadline of `asyncio.timeout` fell into the time in which no place was free."""
    cause = error.__cause__
    return isinstance(cause, asyncio.CancelledError) and cause.args == (_WAITING,)
