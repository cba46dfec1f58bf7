"""What every store does in the benchmark: the same texts, and CPU time of the whole process, all threads included."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable

SESSIONS = 100
APPENDS = 30  # of each session
SINGLE = 500
TEXT = "The cake needs two hundred grams of flour, three eggs, and as much patience as you can find. " * 3
RESULT = "A line of what the tool found on the page.\n" * 20
CALLS = 4

Append = Callable[[int], Awaitable[object]]


async def at_once(append: Append) -> float:
    """CPU seconds of one append while a hundred sessions write at once; `append` gets the number of its session."""

    async def fill(session: int, count: int) -> None:
        for _ in range(count):
            await append(session)

    await asyncio.gather(*(fill(session, 2) for session in range(SESSIONS)))
    gc.collect()
    begun = time.process_time()
    await asyncio.gather(*(fill(session, APPENDS) for session in range(SESSIONS)))
    return (time.process_time() - begun) / (SESSIONS * APPENDS)


async def one_by_one(append: Append) -> float:
    """CPU seconds of one append that is awaited before the next one."""
    for _ in range(20):
        await append(0)
    gc.collect()
    begun = time.process_time()
    for _ in range(SINGLE):
        await append(0)
    return (time.process_time() - begun) / SINGLE
