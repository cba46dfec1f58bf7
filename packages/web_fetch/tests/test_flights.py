from __future__ import annotations

import asyncio

import pytest

from glados.web_fetch.flights import Flights


class Work:
    """Work that ends when a test says so, and counts how often it was begun and interrupted."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = self.interrupted = 0
        self.done = asyncio.Event()
        self.error = error

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.interrupted += 1
            raise
        if self.error is not None:
            raise self.error
        return "done"


async def joined(flights: Flights[str], work: Work, count: int) -> list[asyncio.Task[tuple[str, bool]]]:
    tasks = [asyncio.create_task(flights.join("key", work)) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_equal_work_is_done_once() -> None:
    flights, work = Flights[str](), Work()
    tasks = await joined(flights, work, 5)
    work.done.set()
    assert await asyncio.gather(*tasks) == [("done", True), *[("done", False)] * 4]
    assert work.begun == 1
    await flights.join("key", work)
    assert work.begun == 2


async def test_who_leaves_does_not_end_the_work_of_the_others() -> None:
    flights, work = Flights[str](), Work()
    tasks = await joined(flights, work, 3)
    tasks[0].cancel()
    tasks[2].cancel()
    await asyncio.wait(tasks[::2])
    work.done.set()
    assert await tasks[1] == ("done", False)
    assert (work.begun, work.interrupted) == (1, 0)


async def test_the_last_one_to_leave_ends_it_and_the_next_begins_anew() -> None:
    flights, work = Flights[str](), Work()
    tasks = await joined(flights, work, 2)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    later = await joined(flights, work, 1)
    assert (work.begun, work.interrupted) == (2, 1)
    work.done.set()
    assert await later[0] == ("done", True)


async def test_an_error_is_told_to_all_who_wait_and_to_nobody_after() -> None:
    flights, work = Flights[str](), Work(ValueError("broken"))
    tasks = await joined(flights, work, 3)
    work.done.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(result) for result in results] == ["broken"] * 3
    work.error = None
    assert await flights.join("key", work) == ("done", True)


async def test_closing_ends_what_is_under_way() -> None:
    flights, work = Flights[str](), Work()
    tasks = await joined(flights, work, 2)
    await flights.close()
    assert work.interrupted == 1
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    await asyncio.wait(tasks)
