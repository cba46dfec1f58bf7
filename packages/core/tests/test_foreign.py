"""Foreign code is interrupted, contained and left behind, and nothing else notices."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from glados.core import HookTimeout, PluginError, foreign


@pytest.fixture
def outer_alarm() -> Iterator[list[str]]:
    """An alarm of somebody else's, set to ring in an hour; whatever the test's own runner had set comes back after."""
    rang: list[str] = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rang.append("rang"))
    before = signal.setitimer(signal.ITIMER_REAL, 3600)
    yield rang
    signal.setitimer(signal.ITIMER_REAL, *before)
    signal.signal(signal.SIGALRM, handler)


def hang() -> None:
    time.sleep(3600)


async def test_an_alarm_that_was_set_before_goes_on_with_its_own_handler(outer_alarm: list[str]) -> None:
    handler = signal.getsignal(signal.SIGALRM)
    for interrupted in (lambda: foreign.load("It", hang, 0.1), lambda: foreign.load("It", int, 5)):
        with suppress(HookTimeout):
            interrupted()
        assert signal.getsignal(signal.SIGALRM) is handler
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 3000 < left <= 3600
        assert interval == 0
    assert outer_alarm == []


def test_an_alarm_that_was_due_meanwhile_rings_afterwards(outer_alarm: list[str]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(HookTimeout):
        foreign.load("It", hang, 0.3)
    deadline = time.monotonic() + 10
    while not outer_alarm and time.monotonic() < deadline:
        pass
    assert outer_alarm == ["rang"]


def test_no_alarm_is_left_where_none_was(outer_alarm: list[str]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert foreign.load("It", int, 5) == 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert outer_alarm == []


async def test_the_alarm_is_not_set_while_foreign_code_waits(outer_alarm: list[str]) -> None:
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> str:
        waiting.set()
        await go_on.wait()
        return "done"

    task = asyncio.create_task(foreign.call("It", waits, 5))
    await waiting.wait()
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 3000  # the outer one
    go_on.set()
    assert await task == "done"
    assert outer_alarm == []


async def test_code_of_ours_may_block_longer_than_foreign_code_that_waits() -> None:
    go_on = asyncio.Event()
    task = asyncio.create_task(foreign.call("It", go_on.wait, 0.1))
    await asyncio.sleep(0)
    time.sleep(0.2)  # ours: nothing interrupts it, though the foreign code's time is up
    with pytest.raises(HookTimeout, match=r"^It took longer than 0\.1 s\.$"):
        await task


def test_an_alarm_that_rings_on_the_way_in_or_out_stays_inside(outer_alarm: list[str]) -> None:
    for _ in range(100):
        alarm = foreign._Alarm(1)
        alarm._seconds = 1e-6  # it rings before the block has begun
        with suppress(foreign.Expired), alarm:
            sum(range(1000))
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 3000
    assert outer_alarm == []


def test_outside_the_main_thread_nothing_is_interrupted() -> None:
    ended, results = threading.Event(), list[Any]()

    def body() -> None:
        results.append(foreign.load("It", lambda: ended.wait(10), 0.01))

    thread = threading.Thread(target=body)
    thread.start()
    ended.set()
    thread.join(10)
    assert results == [True]


async def test_a_thread_that_hangs_is_left_behind_as_a_daemon() -> None:
    started, go_on = threading.Event(), threading.Event()
    found: list[threading.Thread] = []

    def hangs() -> None:
        found.append(threading.current_thread())
        started.set()
        go_on.wait()

    with pytest.raises(HookTimeout):
        await foreign.call("It", hangs, 0.1)
    assert started.wait(10)
    assert found[0].is_alive()
    assert found[0].daemon
    go_on.set()
    found[0].join(10)


def test_a_thread_that_ends_after_the_loop_was_closed_disturbs_nobody() -> None:
    go_on, found = threading.Event(), list[threading.Thread]()

    def hangs() -> None:
        found.append(threading.current_thread())
        go_on.wait()

    async def main() -> None:
        with suppress(HookTimeout):
            await foreign.call("It", hangs, 0.1)

    asyncio.run(main())
    go_on.set()
    found[0].join(10)  # an error in the thread would be a warning, and warnings are errors here


@pytest.mark.parametrize("error", [SystemExit(2), GeneratorExit(), BaseException("odd"), asyncio.CancelledError()])
async def test_whatever_foreign_code_raises_becomes_an_error_that_names_it(error: BaseException) -> None:
    async def awaited() -> None:
        raise error

    def plain() -> None:
        raise error

    told = "called sys.exit(2)" if isinstance(error, SystemExit) else f"raised {type(error).__name__}"
    for function in (awaited, plain):
        with pytest.raises(PluginError) as caught:
            await foreign.call("It", function, 5)
        assert caught.value.message.startswith(f"It {told}")


async def test_code_that_is_cancelled_has_a_moment_to_clean_up() -> None:
    log: list[str] = []

    async def cleans_up() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            time.sleep(0.05)
            await asyncio.sleep(0)
            log.append("clean")

    with pytest.raises(HookTimeout):
        await foreign.call("It", cleans_up, 0.1)
    assert log == ["clean"]


async def test_a_caller_that_is_cancelled_takes_the_foreign_code_with_it() -> None:
    started, log = asyncio.Event(), list[str]()

    async def waits() -> None:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            log.append("ended")

    task = asyncio.create_task(foreign.call("It", waits, 60))
    await started.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert log == ["ended"]


async def test_a_plain_function_that_returns_a_coroutine_is_awaited() -> None:
    async def inner() -> str:
        return threading.current_thread().name

    assert await foreign.call("It", lambda: inner(), 5) == threading.main_thread().name


async def test_arguments_that_do_not_fit_are_an_error_of_the_call() -> None:
    async def takes_one(value: int) -> int:
        return value

    with pytest.raises(PluginError, match="It raised TypeError"):
        await foreign.call("It", takes_one, 5)


async def test_the_arguments_of_a_function_may_have_any_name() -> None:
    async def echo(what: int, function: int, timeout: int) -> list[int]:
        return [what, function, timeout]

    assert await foreign.call("echo", echo, 10, what=1, function=2, timeout=3) == [1, 2, 3]


async def test_a_task_that_foreign_code_starts_cannot_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    started: list[asyncio.Task[None]] = []

    async def leave() -> None:
        raise SystemExit(4)

    async def hook() -> None:
        started.append(asyncio.create_task(leave()))
        await asyncio.sleep(0)

    await foreign.call("The hook", hook, 5)
    await asyncio.wait(started)

    assert started[0].result() is None
    assert "a task that a plugin started called sys.exit(4)" in caplog.text
    assert asyncio.get_running_loop().get_task_factory() is None
