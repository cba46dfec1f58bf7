from __future__ import annotations

import asyncio

import pytest

from glados.core import Event, ToolCallEnded, ToolContext, ToolProgress, tool
from glados.core.progress import PER_SECOND, Pace
from glados.core.testing import AppFactory, plugin_of


async def test_the_first_is_told_at_once_and_of_the_others_the_last_when_its_turn_comes() -> None:
    pace, told = Pace(per_second=50), asyncio.Queue[int]()
    for number in range(100):
        pace.tell(lambda number=number: told.put_nowait(number))

    assert told.get_nowait() == 0
    assert told.empty()
    assert await told.get() == 99


async def test_what_waits_is_told_at_once_when_the_call_ends_and_only_once() -> None:
    pace, told = Pace(per_second=1), list[int]()
    for number in range(3):
        pace.tell(lambda number=number: told.append(number))
    pace.flush()
    pace.flush()

    assert told == [0, 2]


@pytest.mark.parametrize("fail", [False, True])
async def test_a_flood_of_progress_is_thinned_out_and_its_last_word_is_told_before_the_end(
    fail: bool, glados_app: AppFactory
) -> None:
    @tool("toys.flood", read_only=True)
    async def flood(ctx: ToolContext) -> int:
        """Tell a lot."""
        for number in range(1_000):
            await ctx.progress(f"{number}", done=number, total=1_000)
        return 1 // (not fail)

    app = await glados_app(plugins=[plugin_of(flood)])
    told: list[Event] = []
    with app.bus.subscribe() as events:
        try:
            await app.call("toys.flood", {})
        except Exception:
            assert fail
        async for event in events:
            told.append(event)
            if isinstance(event, ToolCallEnded):
                break
    progress = [event for event in told if isinstance(event, ToolProgress)]

    assert 2 <= len(progress) <= 1 + 10 * PER_SECOND  # however slow this machine is
    assert (progress[0].message, progress[-1].message) == ("0", "999")
    assert told[-2] is progress[-1]
