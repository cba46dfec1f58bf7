"""A resource lives in a task of its own, and one that hangs or fails is named and left behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pytest

from glados.core import HookTimeout, PluginError
from glados.core.resources import Resource

Opener = Callable[[], AbstractAsyncContextManager[Any]]


def around(before: Any = None, after: Any = None, log: list[str] | None = None) -> Opener:
    """A context that runs one function before and one after, and logs that it got there."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[str]:
        if before is not None:
            await before()
        try:
            yield "value"
        finally:
            if after is not None:
                await after()
            if log is not None:
                log.append("closed")

    return opened


async def sleeps() -> None:
    await asyncio.sleep(3600)


async def blocks() -> None:
    time.sleep(3600)


async def swallows() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def exits() -> None:
    raise SystemExit(4)


async def gives_up() -> None:
    raise asyncio.CancelledError


async def test_a_context_is_left_in_the_task_that_entered_it() -> None:
    tasks: list[Any] = []

    async def note() -> None:
        tasks.append(asyncio.current_task())

    resource = Resource(around(note, note), "dice")
    assert await asyncio.create_task(resource.open(5)) == "value"
    assert await asyncio.create_task(resource.close(5)) is None
    assert tasks[0] is tasks[1]
    assert tasks[0] is not asyncio.current_task()


@pytest.mark.parametrize("hang", [sleeps, blocks, swallows])
async def test_one_that_hangs_when_it_is_opened_is_left_behind(hang: Any) -> None:
    with pytest.raises(HookTimeout, match=r"^dice was not open after 0\.2 s\.$"):
        await Resource(around(hang), "dice").open(0.2)


@pytest.mark.parametrize("hang", [sleeps, blocks, swallows])
async def test_one_that_hangs_when_it_is_closed_is_left_behind(hang: Any) -> None:
    resource = Resource(around(after=hang), "dice")
    await resource.open(5)
    assert await resource.close(0.2) == "dice was not closed after 0.2 s"


@pytest.mark.parametrize(
    ("fault", "told"), [(exits, "dice: SystemExit: 4"), (gives_up, "dice: CancelledError")], ids=["exit", "cancelled"]
)
async def test_one_that_fails_is_named_and_the_loop_goes_on(fault: Any, told: str) -> None:
    with pytest.raises(PluginError) as caught:
        await Resource(around(fault), "dice").open(5)
    assert caught.value.message == told
    resource = Resource(around(after=fault), "dice")
    await resource.open(5)
    assert await resource.close(5) == told


async def test_a_start_that_is_cancelled_while_it_opens_leaves_no_task() -> None:
    entered, log = asyncio.Event(), list[str]()

    @asynccontextmanager
    async def opened() -> AsyncGenerator[None]:
        try:
            entered.set()
            await asyncio.sleep(3600)
            yield
        finally:
            log.append("left")

    opening = asyncio.create_task(Resource(opened, "dice").open(60))
    await entered.wait()
    opening.cancel()
    await asyncio.wait({opening})
    assert opening.cancelled()
    assert log == ["left"]
    assert [task for task in asyncio.all_tasks() if task.get_name() == "resource dice"] == []
