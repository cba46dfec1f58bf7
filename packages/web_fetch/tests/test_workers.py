"""Threads that can be left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from glados.web_fetch.workers import in_thread

LEFT_BEHIND = """
import asyncio, threading
from glados.web_fetch.workers import in_thread

async def main():
    async with asyncio.timeout(0.1):
        await in_thread(threading.Event().wait)

try:
    asyncio.run(main())
except TimeoutError:
    print("on time")
"""


async def test_what_a_function_returns_or_raises_comes_back() -> None:
    assert await in_thread(int, "11", base=2) == 3
    with pytest.raises(ValueError, match="invalid literal"):
        await in_thread(int, "x")


async def test_a_function_that_ends_after_its_caller_left_disturbs_nobody() -> None:
    gate, over = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait()
        over.set()

    waiting = asyncio.ensure_future(in_thread(work))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    assert await asyncio.to_thread(over.wait, 10)
    await asyncio.sleep(0)


def test_a_thread_that_never_ends_does_not_hold_up_the_end_of_the_program() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("on time\n", "")
