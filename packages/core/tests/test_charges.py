"""What sessions cost: every model call is charged to the session that it was made in, and to those above."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from glados.core import (
    Agent,
    App,
    Charge,
    Entry,
    ModelDelta,
    ModelProvider,
    ModelRequest,
    Plugin,
    Services,
    SessionUpdated,
    StreamChunk,
    TextDelta,
    ToolContext,
    Usage,
    hookimpl,
    tool,
)
from glados.core.child_ids import ChildId
from glados.core.models.errors import ModelContextTooLong, ModelUnavailable
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

PRICES = {"scripted": {"input": 1.0, "output": 2.0}}
ONE = Charge("scripted", Usage(1, 1), 3e-06)
UNKNOWN = Charge("scripted", None, None)


@tool("toys.delegate", read_only=True, open_world=False)
async def delegate(ctx: ToolContext) -> list[str]:
    """Let two other agents do it."""
    return [(await ctx.run(Agent(name="helper"), "Help me")).text for _ in range(2)]


@tool("toys.look", read_only=True, open_world=False)
async def look() -> str:
    """Look."""
    return "seen"


async def open_app(glados_app: AppFactory, model: ScriptedModel, prices: Any = PRICES) -> App:
    settings = {"model": {"prices": prices, "first_pause": 0}}
    return await glados_app(plugins=[plugin_of(delegate, look)], model=model, settings=settings)


def charged(entries: Sequence[Entry]) -> list[tuple[str, tuple[Charge, ...]]]:
    return [(entry.to_dict()["payload"].get("role", entry.kind), entry.charges) for entry in entries if entry.charges]


async def test_an_answer_is_charged_to_its_entry_and_its_session(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(call("toys.look"), "Done."))
    result = await app.run("Go")

    session = await app.sessions.get(result.session_id)
    assert charged(await app.sessions.entries(session.id)) == [("assistant", (ONE,)), ("assistant", (ONE,))]
    assert (session.usage, session.cost) == (result.usage, result.cost) == (Usage(2, 2), pytest.approx(6e-06))


async def test_children_are_charged_to_themselves_and_to_those_above(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(call("toys.delegate"), "One.", "Two.", "Done."))
    result = await app.run("Go")

    session = await app.sessions.get(result.session_id)
    children = await app.sessions.children(session.id)
    assert [child.usage for child in children] == [Usage(1, 1), Usage(1, 1)]
    assert (session.usage, session.cost) == (result.usage, result.cost) == (Usage(4, 4), pytest.approx(12e-06))
    (total,) = await app.sessions.costs(session.id)
    assert (total.calls, total.usage) == (4, Usage(4, 4))


async def test_a_childs_session_says_which_call_asked_for_it(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(call("toys.delegate", "c"), "One.", "Two.", "Done."))
    result = await app.run("Go")

    asked = (await app.sessions.entries(result.session_id))[1]
    ids = [ChildId.parse(child.id) for child in await app.sessions.children(result.session_id)]
    assert ids == [ChildId(asked.id, "c_1_0"), ChildId(asked.id, "c_1_0", 2)]


async def test_a_price_that_nobody_knows_makes_the_sum_unknown_for_good(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel("Done."), prices={})
    session = await app.sessions.get((await app.run("Go")).session_id)

    assert (session.usage, session.cost) == (Usage(1, 1), None)


class Breaking(ScriptedModel):
    """Its first answer breaks off."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        if not self.requests:
            self.requests.append(request)
            yield TextDelta("I was about")
            raise ModelUnavailable("gone")
        async for delta in super().stream(request):
            yield delta


async def test_an_answer_that_broke_off_is_owed_and_rides_on_the_next_entry(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, Breaking("Done."))
    result = await app.run("Go")

    session = await app.sessions.get(result.session_id)
    assert charged(await app.sessions.entries(session.id)) == [("assistant", (UNKNOWN, ONE))]
    assert session.cost is result.cost is None


class Endless(ScriptedModel):
    """Its answer never ends."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        yield TextDelta("Well")
        await asyncio.Event().wait()


async def test_an_answer_that_was_aborted_has_an_unknown_price(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, Endless())
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Go", session=session.id))
        await next_of(events, StreamChunk)
        await app.abort(session.id)

    assert charged(await app.sessions.entries(session.id)) == [("assistant", (UNKNOWN,))]
    assert (await app.sessions.get(session.id)).cost is (await running).cost is None


async def test_a_summary_is_charged_to_its_compaction(glados_app: AppFactory) -> None:
    model = ScriptedModel("One.", ModelContextTooLong("too long"), "The summary.", "Two.")
    app = await open_app(glados_app, model)
    session = await app.create_session()
    await app.run("First " * 500, session=session.id)
    await app.run("Second " * 500, session=session.id)

    kinds = charged(await app.sessions.entries(session.id))
    assert kinds == [("assistant", (ONE,)), ("compaction", (ONE,)), ("assistant", (ONE,))]


async def test_a_summary_that_is_no_good_is_owed(glados_app: AppFactory) -> None:
    model = ScriptedModel("One.", ModelContextTooLong("too long"), " ")
    app = await open_app(glados_app, model)
    session = await app.create_session()
    await app.run("First " * 500, session=session.id)
    with pytest.raises(Exception, match="no summary"):
        await app.run("Second " * 500, session=session.id)

    assert charged(await app.sessions.entries(session.id)) == [("assistant", (ONE,)), ("run_end", (ONE,))]


async def test_a_title_is_charged_to_the_session_that_it_names(glados_app: AppFactory) -> None:
    class Provider:
        def model(self, name: str) -> Any:
            return ScriptedModel("A title") if name == "small-one" else ScriptedModel("Done.")

    class Brings(Plugin):
        id = "brings"

        @hookimpl
        async def setup(self, services: Services) -> None:
            services.add(ModelProvider, Provider())

    settings = {"model": {"normal": "big-one", "small": "small-one", "prices": PRICES}}
    app = await glados_app(plugins=[Brings], model="configured", settings=settings)
    with app.bus.subscribe() as events:
        result = await app.run("Go")
        await next_of(events, SessionUpdated)

    session = await app.sessions.get(result.session_id)
    assert sorted(charged(await app.sessions.entries(session.id))) == [("assistant", (ONE,)), ("custom", (ONE,))]
    assert session.usage == Usage(2, 2)
