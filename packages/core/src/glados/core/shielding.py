"""Work that no abort interrupts: what closes a history must end, however often its task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work in a task of its own; cancellations of the caller are dropped until it has ended."""
    task = asyncio.ensure_future(work)
    await ended(task)
    return task.result()


async def ended(task: asyncio.Task[Any]) -> None:
    """Wait until a task has ended, well or not; cancellations of the caller are dropped."""
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # looked at, so that it is not reported as lost
