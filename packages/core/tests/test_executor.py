from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from glados.core import ToolCallPart, ToolError, ToolFlags, ToolResult, tool
from glados.core.executor import Executor
from glados.core.outcomes import failed
from glados.core.pipeline import Checked


class Nothing(BaseModel):
    pass


@tool("toys.work")
async def work(input: Nothing) -> int:
    """Work."""
    return 0


def call(id: str, kind: str) -> Checked:
    """A call of a kind: r and R only read, w and W change something; the capital ones run alone."""
    flags = ToolFlags(
        read_only=kind in "rR",
        destructive=False,
        concurrent=kind in "rw",
        idempotent=False,
        open_world=False,
        untrusted_output=False,
    )
    return Checked(ToolCallPart(id, "toys.work", "{}"), work, Nothing(), flags)


@dataclass
class Workshop:
    """Runs calls that end when they are told to, and remembers which ran together."""

    started: list[str] = field(default_factory=list[str])
    running: dict[str, asyncio.Future[None]] = field(default_factory=dict[str, asyncio.Future[None]])

    async def run(self, checked: Checked) -> ToolResult:
        id = checked.call.id
        self.started.append(id)
        self.running[id] = asyncio.get_running_loop().create_future()
        try:
            await self.running[id]
        finally:
            del self.running[id]
        return ToolResult(id, "toys.work", f"done {id}")

    async def settle(self) -> list[str]:
        """What runs once every call that may start has started."""
        for _ in range(3):
            await asyncio.sleep(0)
        return sorted(self.running)

    def finish(self, id: str) -> None:
        self.running[id].set_result(None)


def fill(kinds: str) -> tuple[Executor, Workshop]:
    workshop = Workshop()
    executor = Executor(workshop.run)
    for number, kind in enumerate(kinds):
        executor.add(call(str(number), kind))
    return executor, workshop


async def told(executor: Executor) -> list[str]:
    return [result.call_id async for group in executor.results() for result in group]


async def test_read_only_calls_start_before_the_release_and_the_others_do_not() -> None:
    executor, workshop = fill("rwr")

    assert await workshop.settle() == ["0", "2"]
    executor.release()
    assert await workshop.settle() == ["0", "1", "2"]
    assert len(await executor.abort()) == 3


async def test_a_call_that_is_not_concurrent_waits_for_those_before_it_and_holds_back_those_behind() -> None:
    executor, workshop = fill("rRr")

    assert await workshop.settle() == ["0"]
    workshop.finish("0")
    assert await workshop.settle() == ["1"]
    workshop.finish("1")
    assert await workshop.settle() == ["2"]
    await executor.abort()


async def test_a_call_that_is_not_concurrent_does_not_overtake_one_that_waits_for_the_release() -> None:
    executor, workshop = fill("wR")

    assert await workshop.settle() == []
    executor.release()
    assert await workshop.settle() == ["0"]
    workshop.finish("0")
    assert await workshop.settle() == ["1"]
    await executor.abort()


async def test_results_are_told_in_the_order_of_the_calls_as_soon_as_all_before_them_are_there() -> None:
    executor, workshop = fill("rrr")
    await workshop.settle()
    groups = executor.results()
    workshop.finish("2")
    workshop.finish("0")
    await workshop.settle()

    assert [result.call_id for result in await anext(groups)] == ["0"]
    workshop.finish("1")
    assert [result.call_id for result in await anext(groups)] == ["1", "2"]
    assert await anext(groups, None) is None


async def test_a_call_that_failed_its_check_holds_nobody_back() -> None:
    executor, workshop = fill("")
    executor.add(failed(ToolCallPart("bad", "toys.none", "{}"), ToolError("There is none.")))
    executor.add(call("good", "R"))

    assert await workshop.settle() == ["good"]
    workshop.finish("good")
    assert await told(executor) == ["bad", "good"]


@pytest.mark.parametrize("error", [RuntimeError("ours"), SystemExit(1), asyncio.CancelledError()], ids=repr)
async def test_whatever_breaks_under_a_call_is_its_result_and_the_next_one_starts(error: BaseException) -> None:
    executor, workshop = fill("RR")
    executor.release()
    await workshop.settle()
    workshop.running["0"].set_exception(error) if isinstance(error, Exception) else workshop.running["0"].cancel()
    await workshop.settle()
    workshop.finish("1")

    assert await told(executor) == ["0", "1"]


async def test_an_abort_tells_what_had_begun_from_what_had_not() -> None:
    executor, workshop = fill("RW")
    executor.release()
    await workshop.settle()
    texts = [result.text for result in await executor.abort()]

    assert "toys.work had begun and its outcome is unknown" in texts[0]
    assert "toys.work had not begun" in texts[1]
    assert workshop.started == ["0"]


async def test_an_abort_keeps_the_results_that_are_there() -> None:
    executor, workshop = fill("rr")
    await workshop.settle()
    workshop.finish("0")
    await workshop.settle()
    results = await executor.abort()

    assert [(result.call_id, result.code) for result in results] == [("0", None), ("1", "aborted")]


def check(kinds: str, running: list[str]) -> None:
    """What runs together may: all concurrent, or one alone."""
    assert len(running) <= 1 or all(kinds[int(id)] in "rw" for id in running)
    for id in running:
        if kinds[int(id)] in "RW":
            assert running == [id]


@given(kinds=st.text("rRwW", max_size=8), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_mix_of_calls_in_any_order_of_ending_keeps_the_rules(kinds: str, data: st.DataObject) -> None:
    async def scenario() -> None:
        executor, workshop = fill(kinds)
        assert all(kinds[int(id)] in "rR" for id in await workshop.settle())
        executor.release()
        reading = asyncio.create_task(told(executor))
        while running := await workshop.settle():
            check(kinds, running)
            workshop.finish(data.draw(st.sampled_from(running)))
        assert await reading == [str(number) for number in range(len(kinds))]
        alone = [id for id in workshop.started if kinds[int(id)] in "RW"]
        assert alone == sorted(alone, key=int)

    asyncio.run(scenario())


@given(kinds=st.text("rRwW", max_size=8), release=st.booleans(), ends=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_an_abort_at_any_time_gives_every_call_one_result_and_leaves_no_task(
    kinds: str, release: bool, ends: int
) -> None:
    async def scenario() -> None:
        executor, workshop = fill(kinds)
        if release:
            executor.release()
        for _ in range(ends):
            if running := await workshop.settle():
                workshop.finish(running[0])
        results = await executor.abort()
        assert [result.call_id for result in results] == [str(number) for number in range(len(kinds))]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())
