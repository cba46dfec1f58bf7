"""glados as it is: an app with a plugin, the pipeline, permission checks, a session, and one reader of all events."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from benchmarks.loop import task
from glados.core import Agent, App, Limits, Plugin, Prepare, Subscription, hookimpl, tool


@tool("bench.look", read_only=True, concurrent=True)
async def look(url: str, limit: int = 10) -> str:
    """Look at a page and return what is there."""
    return task.found()


class BenchPlugin(Plugin):
    id = "bench"

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        prepare.tools.append(look)


async def listen(events: Subscription) -> None:
    """Read every event, as a client's connection would."""
    async for _ in events:
        pass


@asynccontextmanager
async def opened(url: str, *plugins: type[Plugin[Any]]) -> AsyncGenerator[task.Run]:
    agent = Agent(instructions=task.INSTRUCTIONS, limits=Limits(turns=10_000))
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, dict[str, Any]] = {
            "glados": {"data_dir": folder},
            "plugins": {"strict": True},
            "openai": {"base_url": url},
            "model": {"normal": task.MODEL},
        }
        async with App.open(settings=settings, plugins=[*plugins, BenchPlugin], environ={}) as app:
            with app.bus.subscribe() as events:
                listener = asyncio.create_task(listen(events))

                async def run(prompt: str) -> str:
                    return (await app.run(prompt, agent=agent)).text

                yield run
                listener.cancel()


def open(url: str) -> AbstractAsyncContextManager[task.Run]:
    """With sessions in memory."""
    return opened(url)
