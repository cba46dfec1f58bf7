"""Services: typed, owned, replaced and taken back; opened when setup ends and closed in reverse."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from glados.core import Plugin, PluginError, ServiceConflict, ServiceNotFound, Services, hookimpl
from glados.core.testing import AppFactory


class Dice:
    def __init__(self, sides: int = 6) -> None:
        self.sides = sides


@asynccontextmanager
async def open_dice(log: list[str], sides: int = 6) -> AsyncGenerator[Dice]:
    log.append(f"open {sides}")
    yield Dice(sides)
    log.append(f"close {sides}")


def test_a_service_is_made_when_it_is_first_asked_for_and_only_once() -> None:
    services, made = Services(), list[int]()
    services.provide(Dice, lambda: made.append(1) or Dice())
    assert made == []
    assert services.get(Dice) is services.get(Dice)
    assert made == [1]


def test_threads_that_ask_at_once_get_the_same_service() -> None:
    services, both, made, got = Services(), threading.Barrier(2), list[Dice](), list[Dice]()

    def slow() -> Dice:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # only if the other thread makes one too
        made.append(Dice())
        return made[-1]

    services.provide(Dice, slow)
    threads = [threading.Thread(target=lambda: got.append(services.get(Dice))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(made) == 1
    assert got == [made[0], made[0]]


def test_a_service_that_nobody_provides_is_named() -> None:
    with pytest.raises(ServiceNotFound, match="Nobody provides Dice: add the plugin that does to `requires`"):
        Services().get(Dice)


def test_a_second_provider_fails_by_name_unless_it_replaces() -> None:
    services = Services()
    services.owned_by("a").provide(Dice, lambda: Dice(1))
    with pytest.raises(ServiceConflict, match="b provides Dice, which a provides already: pass replace=True"):
        services.owned_by("b").provide(Dice, lambda: Dice(2))
    services.owned_by("b").provide(Dice, lambda: Dice(2), replace=True)
    assert services.get(Dice).sides == 2


@pytest.mark.parametrize(
    ("order", "left"), [("cba", [2, 1, 0]), ("abc", [3, 3, 0]), ("bca", [3, 1, 0]), ("bac", [3, 3, 0])]
)
async def test_replacements_are_taken_back_in_any_order(order: str, left: list[int]) -> None:
    services, seen = Services(), list[int]()
    for sides, owner in enumerate("abc", start=1):
        services.owned_by(owner).provide(Dice, functools.partial(Dice, sides), replace=True)
    for owner in order:
        await services.close(1, owner=owner)
        try:
            seen.append(services.get(Dice).sides)
        except ServiceNotFound:
            seen.append(0)
    assert seen == left


def test_two_classes_of_one_name_are_two_services() -> None:
    def local() -> type[Any]:
        class Thing:
            pass

        return Thing

    first, second, services = local(), local(), Services()
    services.provide(first, first)
    services.provide(second, second)
    assert isinstance(services.get(first), first)
    assert isinstance(services.get(second), second)


async def test_what_is_added_stands_side_by_side_and_is_taken_back_by_owner() -> None:
    services = Services()
    for owner, value in (("a", "1"), ("b", "2"), ("a", "3")):
        services.owned_by(owner).add(str, value)
    assert services.all(str) == ["1", "2", "3"]
    assert services.all(int) == []
    await services.close(1, owner="a")
    assert services.all(str) == ["2"]


def test_an_override_holds_while_its_block_runs() -> None:
    services, other = Services(), Dice(2)
    services.provide(Dice, Dice)
    with services.override(Dice, other):
        assert services.get(Dice) is other
    assert services.get(Dice).sides == 6
    with pytest.raises(ServiceNotFound), services.override(str, "x"):
        pass


@pytest.mark.parametrize("error", [OSError("no dice"), SystemExit(3)])
def test_a_factory_that_fails_is_named_and_may_succeed_later(error: BaseException) -> None:
    services, faults = Services(), [error]

    def make() -> Dice:
        if faults:
            raise faults.pop()
        return Dice()

    services.provide(Dice, make)
    with pytest.raises(PluginError, match=rf"^The factory of Dice raised {type(error).__name__}: {error}\.$"):
        services.get(Dice)
    assert services.get(Dice).sides == 6


def test_an_error_of_ours_inside_a_factory_stays_itself() -> None:
    services = Services()
    services.provide(str, lambda: str(services.get(Dice)))
    with pytest.raises(ServiceNotFound, match="Nobody provides Dice"):
        services.get(str)


def test_a_coroutine_function_is_no_factory() -> None:
    async def make() -> Dice:
        return Dice()

    factory: Any = make
    with pytest.raises(
        PluginError, match="The factory of Dice is a coroutine function: make it an @asynccontextmanager"
    ):
        Services().provide(Dice, factory)
    hidden, services = lambda: factory(), Services()
    services.provide(Dice, hidden)
    with pytest.raises(PluginError, match="The factory of Dice gave coroutine: pass the @asynccontextmanager function"):
        services.get(Dice)


def test_a_lambda_around_a_context_manager_is_told_how_to_pass_it() -> None:
    services = Services()
    hidden: Any = lambda: open_dice([])  # noqa: E731
    services.provide(Dice, hidden)
    with pytest.raises(PluginError, match=r"gave _AsyncGeneratorContextManager: pass .* with functools\.partial"):
        services.get(Dice)


async def test_contexts_are_entered_when_setup_ends_and_closed_in_reverse(glados_app: AppFactory) -> None:
    log: list[str] = []

    class First(Plugin):
        id = "first"

        @hookimpl
        async def setup(self, services: Services) -> None:
            services.provide(Dice, functools.partial(open_dice, log, 4))
            services.provide(int, self.number)
            with pytest.raises(ServiceNotFound, match="Dice is opened when the setup of first ends; ask for it after"):
                services.get(Dice)

        @asynccontextmanager
        async def number(self) -> AsyncGenerator[int]:
            log.append("open number")
            yield 5
            log.append("close number")

        @hookimpl
        async def teardown(self, services: Services) -> None:
            log.append(f"teardown {services.get(Dice).sides} {services.get(int)}")

    app = await glados_app(plugins=[First])
    assert (app.services.get(Dice).sides, app.services.get(int)) == (4, 5)
    await glados_app.close()
    assert log == ["open 4", "open number", "teardown 4 5", "close number", "close 4"]


async def test_contexts_are_entered_in_the_order_in_which_they_were_provided() -> None:
    services, log = Services(), list[str]()
    services.provide(Dice, Dice)
    mine = services.owned_by("mine")

    @asynccontextmanager
    async def first() -> AsyncGenerator[str]:
        log.append("open first")
        yield "first"

    mine.provide(str, first)
    mine.provide(Dice, functools.partial(open_dice, log, 8), replace=True)
    await mine.open_resources(5)
    assert log == ["open first", "open 8"]
    assert await services.close(5) == []


async def test_whoever_was_closed_registers_nothing_any_more() -> None:
    services = Services()
    gone = services.owned_by("gone")
    await services.close(1, owner="gone")
    for register in (lambda: gone.provide(Dice, Dice), lambda: gone.add(Dice, Dice())):
        with pytest.raises(PluginError, match=r"^gone registers Dice after it was stopped\.$"):
            register()
    services.owned_by("other").provide(Dice, Dice)


async def test_a_service_is_never_awaitable_even_inside_a_running_loop() -> None:
    services = Services()
    pending: Any = asyncio.get_running_loop().create_future
    services.provide(Dice, pending)
    with pytest.raises(PluginError, match="The factory of Dice gave"):
        services.get(Dice)
