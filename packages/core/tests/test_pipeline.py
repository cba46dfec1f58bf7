from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from glados.core import (
    App,
    GladosError,
    InvalidInput,
    Model,
    PermissionDenied,
    PermissionRequest,
    Tool,
    ToolCallEnded,
    ToolCallPart,
    ToolCallStarted,
    ToolContext,
    ToolError,
    ToolNotFound,
    ToolProgress,
    ToolResultPart,
    ToolTimeout,
    tool,
)
from glados.core.testing import AppFactory, ScriptedModel, next_of, plugin_of

FOREVER = 30.0


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int
    note: str = ""

    @field_validator("note")
    @classmethod
    def _known(cls, value: str) -> str:
        return sys.exit(4) if value == "exit" else {"": ""}[value]


def quiet(*, read_only: bool = True, open_world: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Tool]:
    return tool("toys.make", read_only=read_only, open_world=open_world, **options)


def raising(error: BaseException) -> Callable[[Any], Any]:
    def fail(_value: Any) -> Any:
        raise error

    return fail


async def refusal(app: App, input: dict[str, Any], **options: Any) -> GladosError:
    with pytest.raises(GladosError) as caught:
        await app.call("toys.make", input, **options)
    return caught.value


async def test_phases_come_in_order_and_the_call_is_the_last_but_the_limit(glados_app: AppFactory) -> None:
    order: list[str] = []

    def note(word: str, answer: Any = None) -> Callable[[Any], Any]:
        return lambda _value: (order.append(word), answer)[1]

    @tool("toys.make", validate=note("meaning"), permission=note("permission", PermissionRequest()),
          render=note("limit", "done"))  # fmt: skip
    async def make(input: Box) -> int:
        """Make a box."""
        order.append("call")
        return input.size

    app = await glados_app(plugins=[plugin_of(make)])
    await app.call("toys.make", {"size": 1}, approve=True)

    assert order == ["meaning", "permission", "call", "limit"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"size": 1', "is not JSON"),
        ("size=1", "is not JSON"),
        ('{"size": "\\ud800"}', "is not JSON"),
        ('{"size": ' + "[" * 5000 + "]" * 5000 + "}", "is not JSON"),
        ("[1]", "input: "),
        ("null", "input: "),
        ('{"size": "big"}', "size: Input should be a valid integer"),
        ('{"size": ' + "9" * 5000 + "}", "number out of range"),
        ("{}", "size: Field required"),
        ("", "size: Field required"),
        ('{"size": 1, "color": "red"}', "color: Extra inputs are not permitted"),
        ('{"size": 1, "note": "\udcff"}', "toys.make"),
    ],
    ids=range(12),
)
async def test_arguments_that_do_not_fit_are_told_and_the_run_goes_on(
    arguments: str, told: str, glados_app: AppFactory
) -> None:
    called: list[Box] = []

    @quiet()
    async def make(input: Box) -> int:
        """Make a box."""
        called.append(input)
        return input.size

    model = ScriptedModel(ToolCallPart("c", "toys.make", arguments), "Sorry.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)
    result = await app.run("Make a box")

    part = model.requests[1].messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    assert told in part.text
    assert part.is_error
    assert (called, result.text) == ([], "Sorry.")


async def test_the_fields_that_do_not_fit_are_data_of_the_error(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(quiet()(make_box))])
    error = await refusal(app, {"size": "big", "color": "red"})

    assert isinstance(error, InvalidInput)
    assert error.data["tool"] == "toys.make"
    assert [fault["field"] for fault in error.to_dict()["data"]["faults"]] == ["size", "color"]


async def make_box(input: Box) -> int:
    """Make a box."""
    return input.size


@pytest.mark.parametrize(
    ("note", "told"), [("odd", "failed with KeyError: 'odd'"), ("exit", r"it called sys\.exit\(4\)")]
)
async def test_an_input_model_that_breaks_is_an_error_of_its_tool(note: str, told: str, glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(quiet()(make_box))])

    with pytest.raises(ToolError, match=told):
        await app.call("toys.make", {"size": 1, "note": note})


async def test_an_input_that_cannot_be_json_is_refused(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(quiet()(make_box))])
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}

    assert "cannot be written as JSON" in (await refusal(app, {"size": object()})).message
    assert "cannot be written as JSON" in (await refusal(app, deep)).message
    while deep:  # taken apart from the outside: freeing it at once would need as deep a stack
        deep = deep["a"]


async def test_a_huge_argument_reaches_the_tool(glados_app: AppFactory) -> None:
    @quiet()
    async def make(text: str) -> int:
        """Count."""
        return len(text)

    app = await glados_app(plugins=[plugin_of(make)])

    assert await app.call("toys.make", {"text": "x" * 5_000_000}) == {"result": 5_000_000}


async def test_an_unknown_tool_is_told_with_the_one_that_was_meant(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(quiet()(make_box))])

    with pytest.raises(ToolNotFound, match=r"no tool 'toys\.mkae': did you mean 'toys\.make'\?"):
        await app.call("toys.mkae", {})
    with pytest.raises(ToolNotFound, match=r"there are artifacts\.read, toys\.make\."):
        await app.call("zzz", {})


async def too_big(input: Box) -> None:
    await asyncio.sleep(0)
    if input.size > 5:
        raise ValueError("size: 5 is the largest.")


@pytest.mark.parametrize(
    ("validate", "kind", "told"),
    [
        (raising(ValueError("it has\n no lid.")), InvalidInput, "The input of toys.make does not fit: it has no lid."),
        (too_big, InvalidInput, "The input of toys.make does not fit: size: 5 is the largest."),
        (raising(ToolError("The shop is closed.")), ToolError, "The shop is closed."),
        (raising(KeyError("lid")), ToolError, "toys.make failed with KeyError: 'lid'."),
        (raising(SystemExit(2)), ToolError, "toys.make failed: it called sys.exit(2)."),
        (raising(asyncio.CancelledError()), ToolError, "toys.make failed with CancelledError."),
    ],
    ids=["value", "async", "own", "broken", "exit", "cancelled"],
)
async def test_meaning_is_checked_before_anybody_is_asked(
    validate: Any, kind: type[GladosError], told: str, glados_app: AppFactory
) -> None:
    app = await glados_app(plugins=[plugin_of(quiet(read_only=False, validate=validate)(make_box))])
    error = await refusal(app, {"size": 9}, on_question=raising(AssertionError("asked")))

    assert (type(error), error.message) == (kind, told)


@pytest.mark.parametrize("error", [KeyError("owner"), SystemExit(1)], ids=["broken", "exit"])
async def test_a_permission_function_that_breaks_lets_nothing_through(
    error: BaseException, glados_app: AppFactory
) -> None:
    app = await glados_app(plugins=[plugin_of(quiet(permission=raising(error))(make_box))])

    assert isinstance(await refusal(app, {"size": 1}), ToolError)


async def test_a_denied_call_is_not_made(glados_app: AppFactory) -> None:
    called: list[int] = []

    @tool("toys.make")
    async def make() -> int:
        """Make a box."""
        called.append(1)
        return 1

    app = await glados_app(plugins=[plugin_of(make)], settings={"permissions": {"deny": ["toys.*"]}})

    assert isinstance(await refusal(app, {}, approve=True), PermissionDenied)
    assert called == []


def sync_raises() -> int:
    """Fail."""
    raise KeyError("lid")


def sync_exits() -> int:
    """Exit."""
    sys.exit("bye")


async def async_raises() -> int:
    """Fail."""
    raise RuntimeError


async def async_exits() -> int:
    """Exit."""
    sys.exit(0)


async def async_cancels_itself() -> int:
    """Wait for something that is cancelled."""
    waiting = asyncio.get_running_loop().create_future()
    waiting.cancel()
    return await waiting


async def wrong_type() -> int:
    """Return no number."""
    return "one"  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (sync_raises, "toys.make failed with KeyError: 'lid'."),
        (sync_exits, "toys.make failed: it called sys.exit('bye')."),
        (async_raises, "toys.make failed with RuntimeError."),
        (async_exits, "toys.make failed: it called sys.exit(0)."),
        (async_cancels_itself, "toys.make failed with CancelledError."),
        (wrong_type, "toys.make returned something that does not fit its output (result: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_whatever_a_tool_does_wrong_is_told_to_the_model(
    function: Callable[..., Any], told: str, glados_app: AppFactory
) -> None:
    model = ScriptedModel(ToolCallPart("c", "toys.make", "{}"), "Sorry.")
    app = await glados_app(plugins=[plugin_of(quiet()(function))], model=model)

    assert (await app.run("Go")).text == "Sorry."
    part = model.requests[1].messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    assert part.text.startswith(f"Error tool_failed: {told}")


released = threading.Event()


def sync_waits() -> int:
    """Wait in a thread."""
    released.wait(FOREVER)
    return 1


async def async_waits() -> int:
    """Wait."""
    await asyncio.sleep(FOREVER)
    return 1


async def blocks() -> int:
    """Block the loop."""
    while True:
        pass


async def swallows() -> int:
    """Refuse to end."""
    while not released.is_set():
        try:
            await asyncio.sleep(FOREVER)
        except asyncio.CancelledError:
            released.set()
    return 1


@pytest.mark.parametrize("function", [sync_waits, async_waits, blocks, swallows])
async def test_a_call_that_takes_too_long_is_stopped(function: Callable[..., Any], glados_app: AppFactory) -> None:
    released.clear()
    app = await glados_app(plugins=[plugin_of(quiet(timeout=0.05)(function))])
    error = await refusal(app, {})
    released.set()

    assert isinstance(error, ToolTimeout)
    assert error.message == "toys.make did not end within 0.05 s and was stopped."


@pytest.mark.parametrize(
    "render", [raising(KeyError("x")), raising(SystemExit(1)), lambda _: 5, lambda _: None], ids=range(4)
)
async def test_a_render_that_breaks_is_an_error_of_its_tool(
    render: Callable[[Any], Any], glados_app: AppFactory
) -> None:
    app = await glados_app(plugins=[plugin_of(quiet(render=render)(make_box))])
    with app.bus.subscribe() as events:
        error = await refusal(app, {"size": 1})

        assert isinstance(error, ToolError)
        assert (await next_of(events, ToolCallEnded)).code == "tool_failed"


async def results(app: App, model: ScriptedModel) -> str:
    await app.run("Go")
    part = model.requests[1].messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    return part.text


async def test_what_the_model_reads_is_cut_at_the_limit_and_says_so(glados_app: AppFactory) -> None:
    make = quiet(max_result_chars=4, render=lambda output: "x" * output.result)(make_box)
    model = ScriptedModel(ToolCallPart("c", "toys.make", '{"size": 10}'), "Thanks.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)

    assert re.fullmatch(
        r'xxxx\n\n\[cut: 4 of 10 characters are shown; read on with artifacts.read {"id": "\w+", "offset": 4}\]',
        await results(app, model),
    )
    assert await app.call("toys.make", {"size": 10}) == {"result": 10}


async def test_half_a_character_in_a_rendered_result_is_replaced(glados_app: AppFactory) -> None:
    make = quiet(render=lambda _: "\ud83d\ude00 \ud800 \0")(make_box)
    model = ScriptedModel(ToolCallPart("c", "toys.make", '{"size": 10}'), "Thanks.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)

    assert await results(app, model) == "\U0001f600 � \0"


@pytest.mark.parametrize("value", ["\ud800", b"\xff", object()], ids=["surrogate", "bytes", "object"])
async def test_an_output_that_cannot_be_json_is_an_error_of_its_tool(value: object, glados_app: AppFactory) -> None:
    @quiet()
    async def make(ctx: ToolContext) -> dict[str, Any]:
        """Give something odd."""
        return {"odd": value}

    model: Model = ScriptedModel(ToolCallPart("c", "toys.make", "{}"), "Sorry.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)

    assert (await app.run("Go")).text == "Sorry."
    assert isinstance(await refusal(app, {}), ToolError)


async def test_nul_goes_in_and_out(glados_app: AppFactory) -> None:
    @quiet()
    async def make(text: str) -> str:
        """Echo."""
        return text

    model = ScriptedModel(ToolCallPart("c", "toys.make", json.dumps({"text": "a\0b"})), "Thanks.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)

    assert json.loads(await results(app, model)) == {"result": "a\0b"}


async def test_an_error_with_data_that_is_no_json_is_told_all_the_same(glados_app: AppFactory) -> None:
    @quiet()
    async def make() -> int:
        """Fail."""
        raise ToolError("No \ud800.", lock=threading.Lock, where={1: b"x"})

    model = ScriptedModel(ToolCallPart("c", "toys.make", "{}"), "Sorry.")
    app = await glados_app(plugins=[plugin_of(make)], model=model)

    assert await results(app, model) == "Error tool_failed: No �."
    json.dumps([entry.to_dict() for entry in await app.sessions.entries((await app.sessions.list())[0].id)])


async def test_progress_is_told_between_the_start_and_the_end_of_the_call(glados_app: AppFactory) -> None:
    @quiet()
    async def make(ctx: ToolContext) -> int:
        """Make slowly."""
        await ctx.progress("half way", done=1, total=2)
        return 1

    app = await glados_app(plugins=[plugin_of(make)])
    with app.bus.subscribe() as events:
        await app.call("toys.make", {})
        told = [await events.next() for _ in range(3)]

    assert [type(event) for event in told] == [ToolCallStarted, ToolProgress, ToolCallEnded]
    assert told[1].payload()["message"] == "half way"
    assert (told[1].payload()["done"], told[1].payload()["total"]) == (1, 2)
