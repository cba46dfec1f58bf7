from __future__ import annotations

import asyncio
from typing import Any

import pytest

from glados.core import (
    App,
    PermissionDenied,
    PermissionRefused,
    PermissionRequested,
    Question,
    ToolContext,
    ToolError,
    ToolNotFound,
    tool,
)
from glados.core.questions import Answer
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of


@tool("toys.ask", read_only=True)
async def ask(ctx: ToolContext) -> bool:
    """Ask a person."""
    return await ctx.ask("Shall I?")


@tool("toys.write")
async def write(text: str = "") -> str:
    """Change something."""
    return f"wrote {text}"


@tool("toys.outer", read_only=True)
async def outer(tool_id: str, ctx: ToolContext) -> dict[str, Any]:
    """Call another tool."""
    return await ctx.call(tool_id, {})


@tool("toys.endless", read_only=True)
async def endless(ctx: ToolContext) -> int:
    """Call itself."""
    return (await ctx.call("toys.endless", {}))["result"]


async def open_app(glados_app: AppFactory, **options: Any) -> App:
    return await glados_app(plugins=[plugin_of(ask, write, outer, endless)], **options)


@pytest.mark.parametrize(("answer", "told"), [("once", True), ("session", True), ("deny", False)])
async def test_a_tool_can_ask_the_person_something_of_its_own(
    answer: Answer, told: bool, glados_app: AppFactory
) -> None:
    app = await open_app(glados_app)
    asked: list[Question] = []

    def on_question(question: Question) -> Answer:
        asked.append(question)
        return answer

    assert await app.call("toys.ask", {}, on_question=on_question) == {"result": told}
    assert (asked[0].text, asked[0].tool_id, asked[0].rule) == ("Shall I?", "toys.ask", None)


async def test_a_tool_that_asks_where_nobody_is_there_hears_no(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    assert await app.call("toys.ask", {}) == {"result": False}


async def test_an_approved_call_does_not_answer_what_the_tool_itself_asks(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    assert await app.call("toys.ask", {}, approve=True) == {"result": False}


async def test_a_nested_call_gives_its_output(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, settings={"permissions": {"allow": ["toys.write"]}})

    assert await app.call("toys.outer", {"tool_id": "toys.write"}) == {"result": "wrote "}


async def test_a_nested_call_that_needs_permission_is_denied_where_nobody_is_there(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(PermissionDenied, match=r"toys\.write was not allowed"):
        await app.call("toys.outer", {"tool_id": "toys.write"})


async def test_an_approved_call_approves_no_call_inside_it(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(PermissionDenied, match=r"toys\.write was not allowed"):
        await app.call("toys.outer", {"tool_id": "toys.write"}, approve=True)


async def test_a_nested_call_that_needs_permission_asks_whoever_the_outer_call_asks(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    asked: list[str] = []

    async def on_question(question: Question) -> Answer:
        asked.append(question.tool_id)
        return "once"

    await app.call("toys.outer", {"tool_id": "toys.write"}, on_question=on_question)

    assert asked == ["toys.write"]


async def test_a_nested_call_of_an_unknown_tool_says_so(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(ToolNotFound, match=r"did you mean 'toys\.write'"):
        await app.call("toys.outer", {"tool_id": "toys.wrote"})


async def test_tools_that_call_each_other_without_end_are_stopped(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(ToolError, match="8 tools deep"):
        await app.call("toys.endless", {})


async def test_a_nested_call_has_an_id_that_begins_with_that_of_its_caller(glados_app: AppFactory) -> None:
    ids: list[str] = []

    @tool("toys.inner", read_only=True)
    async def inner(ctx: ToolContext) -> int:
        """Remember the id."""
        ids.append(ctx.call_id)
        return 1

    @tool("toys.first", read_only=True)
    async def first(ctx: ToolContext) -> int:
        """Call the other."""
        ids.append(ctx.call_id)
        return (await ctx.call("toys.inner", {}))["result"]

    app = await glados_app(plugins=[plugin_of(first, inner)])
    await app.call("toys.first", {})

    assert ids[1].startswith(f"{ids[0]}.")


async def test_a_question_of_a_call_that_is_aborted_is_closed_and_told(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, model=ScriptedModel(call("toys.write")))
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Write", session=session.id, on_question="wait"))
        question = await next_of(events, PermissionRequested)
        await app.abort(session.id)
        refused = await next_of(events, PermissionRefused)

    assert refused.question_id == question.question["id"]
    assert "aborted" in refused.why
    assert app.permissions.pending() == []
    assert (await running).stop == "aborted"


async def test_what_a_tool_leaves_running_can_do_nothing_once_the_call_is_over(glados_app: AppFactory) -> None:
    left: list[asyncio.Task[list[str]]] = []
    over = asyncio.Event()

    async def go_on(ctx: ToolContext) -> list[str]:
        await over.wait()
        refused: list[str] = []
        for attempt in (ctx.call("toys.write", {}), ctx.ask("Still?"), ctx.progress("on and on")):
            with pytest.raises(ToolError, match=r"This call of toys\.leave is over") as caught:
                await attempt
            refused.append(caught.value.code)
        return refused

    @tool("toys.leave", read_only=True)
    async def leave(ctx: ToolContext) -> int:
        """Leave something running."""
        left.append(asyncio.create_task(go_on(ctx)))
        return 1

    settings = {"permissions": {"mode": "bypass"}}
    app = await glados_app(plugins=[plugin_of(leave, write)], settings=settings)
    await app.call("toys.leave", {}, on_question=lambda _: "once")
    over.set()

    assert await left[0] == ["aborted"] * 3
