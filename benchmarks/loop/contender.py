"""One contender in a process of its own: opens it, then measures what is asked on stdin, one JSON line each.

`python -m benchmarks.loop.contender MODULE URL`, where the module has `open(url)`, which gives a function that takes a
prompt and returns the answer.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, cast

from benchmarks.loop.task import Kind, Open, Run, checked, prompt

WAIT_SECONDS = 120.0  # in which all runs must have reached the model


async def cpu(run: Run, kind: Kind, amount: int) -> float:
    """CPU seconds of one run; the run before it wakes connections and caches that have gone cold."""
    await checked(run, "rounds", 1)
    gc.collect()
    begun = time.process_time()
    await checked(run, kind, amount)
    return time.process_time() - begun


async def memory(run: Run, url: str, runs: int) -> float:
    """Bytes by which the process grows for each of so many runs that wait for the model."""
    gc.collect()
    before = resident()
    tasks = [asyncio.ensure_future(run(prompt("wait", number))) for number in range(runs)]
    async with asyncio.timeout(WAIT_SECONDS):
        while await waiting(url) < runs:
            for task in tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.05)
    gc.collect()
    return (resident() - before) / runs


def resident() -> int:
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def waiting(url: str) -> int:
    """How many requests wait at the server."""
    port = int(url.rpartition(":")[2].removesuffix("/v1"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /waiting HTTP/1.1\r\n\r\n")
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    count = int(await reader.readexactly(length))
    writer.close()
    return count


async def serve(module: str, url: str) -> None:
    """Answer one command after the other."""
    opening = cast("Open", importlib.import_module(module).open)
    async with opening(url) as run:
        await checked(run, "rounds", 2)
        await checked(run, "drip", 20)
        tell({"ready": True})
        while line := sys.stdin.readline():
            command: dict[str, Any] = json.loads(line)
            kind, amount = command["kind"], command["amount"]
            if kind == "wait":
                tell({"value": await memory(run, url, amount)})
                os._exit(0)  # a thousand runs that wait are not worth a clean end
            tell({"value": await cpu(run, kind, amount)})


def tell(answer: dict[str, Any]) -> None:
    """One line of JSON to whoever asked."""
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:3]))
