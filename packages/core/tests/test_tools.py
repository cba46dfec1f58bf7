from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from glados.core import PluginError, Services, ToolContext, ToolError, ToolFlags, tool
from glados.core.testing import AppFactory, plugin_of


class RollInput(BaseModel):
    count: int = 1


class RollOutput(BaseModel):
    rolls: list[int]


class Point(TypedDict):
    x: int
    y: int


async def test_a_parameter_named_input_with_a_model_is_the_whole_input(glados_app: AppFactory) -> None:
    @tool("dice.roll", read_only=True)
    async def roll(input: RollInput) -> RollOutput:
        """Roll dice."""
        return RollOutput(rolls=[6] * input.count)

    app = await glados_app(plugins=[plugin_of(roll)])

    assert roll.input_model is RollInput
    assert await app.call("dice.roll", {"count": 2}) == {"rolls": [6, 6]}


async def test_otherwise_each_parameter_is_a_field_with_its_default(glados_app: AppFactory) -> None:
    @tool("dice.roll", read_only=True)
    async def roll(sides: int, count: int = 2) -> list[int]:
        """Roll dice."""
        return [sides] * count

    app = await glados_app(plugins=[plugin_of(roll)])

    assert await app.call("dice.roll", {"sides": 6}) == {"result": [6, 6]}
    assert roll.input_schema["required"] == ["sides"]
    assert roll.input_schema["properties"]["count"]["default"] == 2


async def test_a_mutable_default_is_not_shared_between_calls(glados_app: AppFactory) -> None:
    @tool("toys.add", read_only=True)
    async def add(seen: list[int] = []) -> list[int]:  # noqa: B006
        """Add one."""
        seen.append(1)
        return seen

    app = await glados_app(plugins=[plugin_of(add)])
    await app.call("toys.add", {})

    assert await app.call("toys.add", {}) == {"result": [1]}


def test_a_description_in_annotated_is_what_the_model_reads_of_a_field() -> None:
    @tool("dice.roll")
    async def roll(count: Annotated[int, Field(description="How many.", ge=1)] = 1) -> int:
        """Roll dice."""
        return count

    assert roll.input_schema["properties"]["count"] == {
        "default": 1,
        "description": "How many.",
        "minimum": 1,
        "title": "Count",
        "type": "integer",
    }


async def test_a_tool_gets_its_context_if_it_asks_for_it(glados_app: AppFactory) -> None:
    @tool("toys.who", read_only=True)
    async def who(ctx: ToolContext) -> list[str]:
        """Say who calls."""
        return [ctx.tool_id, type(ctx.services.get(Services)).__name__ if ctx.session_id else "no session"]

    app = await glados_app(plugins=[plugin_of(who)])

    assert "ctx" not in who.input_schema.get("properties", {})
    assert await app.call("toys.who", {}) == {"result": ["toys.who", "no session"]}


async def test_a_plain_function_runs_in_a_thread(glados_app: AppFactory) -> None:
    @tool("toys.where", read_only=True)
    def where(input: RollInput) -> bool:
        """Whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    app = await glados_app(plugins=[plugin_of(where)])

    assert await app.call("toys.where", {}) == {"result": False}


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        (int, 3, {"result": 3}),
        (str | None, None, {"result": None}),
        (type(None), None, {"result": None}),
        (list[RollOutput], [RollOutput(rolls=[1])], {"result": [{"rolls": [1]}]}),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict, {"a": [1]}, {"a": [1]}),
        (Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (RollOutput, RollOutput(rolls=[4]), {"rolls": [4]}),
        (RollOutput, {"rolls": [4]}, {"rolls": [4]}),
    ],
)
async def test_a_result_that_is_no_object_is_wrapped_and_an_object_is_not(
    kind: Any, value: object, told: object, glados_app: AppFactory
) -> None:
    async def give() -> Any:
        """Give something."""
        return value

    give.__annotations__["return"] = kind
    app = await glados_app(plugins=[plugin_of(tool("toys.give", read_only=True)(give))])

    assert await app.call("toys.give", {}) == told


def test_models_that_are_local_to_a_function_can_be_named_in_hints() -> None:
    class Local(BaseModel):
        name: str

    @tool("toys.greet")
    async def greet(input: Local) -> list[Local]:
        """Greet."""
        return [input]

    assert greet.input_model is Local
    assert "Local" in greet.output_schema["$defs"]


def test_a_hint_that_cannot_be_resolved_is_named() -> None:
    async def greet(name: str) -> str:
        """Greet."""
        return name

    greet.__annotations__["name"] = "Missing"
    with pytest.raises(PluginError, match=r"'toys\.greet' has a type hint that cannot be resolved: .*Missing"):
        tool("toys.greet")(greet)


def declared(function: Callable[..., Any], hints: dict[str, Any]) -> Callable[..., Any]:
    function.__doc__ = "Do something."
    function.__annotations__ = hints
    return function


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (declared(lambda: 1, {}), "does not say what it returns"),
        (declared(lambda count: 1, {"return": int}), "parameter 'count' needs a type hint"),
        (declared(lambda *args: 1, {"args": int, "return": int}), "parameter 'args'"),
        (declared(lambda **more: 1, {"more": int, "return": int}), "parameter 'more'"),
        (declared(lambda count, /: 1, {"count": int, "return": int}), "parameter 'count' .* only by position"),
        (declared(lambda input, extra: 1, {"input": RollInput, "extra": int, "return": int}), "'extra' beside 'input'"),
        (declared(lambda lock: 1, {"lock": threading.Event, "return": int}), "no JSON schema: .*Event"),
        (declared(lambda: 1, {"return": threading.Event}), "no JSON schema: Unable.*Event"),
        (declared(lambda _x: 1, {"_x": int, "return": int}), "'_x' begins with '_'"),
    ],
)
def test_a_bad_declaration_is_refused_with_the_tool_and_the_fault(function: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(PluginError, match=rf"'toys\.bad'.*{complaint}"):
        tool("toys.bad")(function)


def test_a_tool_without_a_docstring_is_refused() -> None:
    async def silent() -> int:
        return 1

    with pytest.raises(PluginError, match=r"'toys\.silent' has no docstring"):
        tool("toys.silent")(silent)


@pytest.mark.parametrize("id", ["roll", "Dice.roll", "dice.", ".roll", "dice.roll.twice", "dice roll", "dice.roll\n"])
def test_an_id_that_is_no_tool_id_is_refused(id: str) -> None:
    with pytest.raises(PluginError, match="is no tool id"):
        tool(id)


async def test_a_tool_can_still_be_called_as_the_function_it_is() -> None:
    @tool("dice.roll")
    async def roll(input: RollInput) -> RollOutput:
        """Roll dice."""
        return RollOutput(rolls=[input.count])

    @tool("dice.twice")
    def twice(count: int) -> int:
        """Double it."""
        return count * 2

    assert await roll(RollInput(count=3)) == RollOutput(rolls=[3])
    assert twice(4) == 8


async def roll(input: RollInput) -> int:
    """Roll dice."""
    return input.count


def test_flags_that_are_not_given_are_the_unsafe_ones() -> None:
    assert tool("dice.roll")(roll).flags() == ToolFlags(
        read_only=False,
        destructive=True,
        concurrent=False,
        idempotent=False,
        open_world=True,
        untrusted_output=True,
    )


def test_destructive_follows_read_only_and_untrusted_output_follows_open_world() -> None:
    flags = tool("dice.roll", read_only=True, open_world=False)(roll).flags()
    told = tool("dice.roll", destructive=False, untrusted_output=False)(roll).flags()

    assert (flags.destructive, flags.untrusted_output) == (False, False)
    assert (told.read_only, told.destructive, told.untrusted_output) == (False, False, False)


def test_a_flag_can_be_a_function_of_the_input() -> None:
    peek = tool("dice.roll", read_only=lambda input: input.count == 0)(roll)

    assert peek.flags(RollInput(count=0)).read_only
    assert not peek.flags(RollInput(count=0)).destructive
    assert peek.flags(RollInput(count=1)).destructive
    assert not peek.flags().read_only


def exits(_input: RollInput) -> bool:
    raise SystemExit(3)


async def is_query(_input: RollInput) -> bool:
    return True


def fails(_input: RollInput) -> bool:
    raise KeyError


@pytest.mark.parametrize("flag", [fails, exits, is_query, lambda _: "yes"])
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_flag_that_raises_or_says_neither_yes_nor_no_counts_as_unsafe(flag: Callable[[RollInput], bool]) -> None:
    made = tool("dice.roll", read_only=flag, destructive=flag, concurrent=flag, idempotent=flag)(roll)
    flags = made.flags(RollInput())

    assert (flags.read_only, flags.destructive, flags.concurrent, flags.idempotent) == (False, True, False, False)


def test_a_listing_shows_the_schemas_and_the_flags() -> None:
    listed = tool("dice.roll", read_only=True)(roll).to_dict()

    assert (listed["id"], listed["description"]) == ("dice.roll", "Roll dice.")
    assert listed["input_schema"]["properties"]["count"]["type"] == "integer"
    assert listed["output_schema"]["properties"]["result"]["type"] == "integer"
    assert listed["flags"]["read_only"] is True


def test_a_result_that_does_not_fit_its_output_names_the_tool_and_the_field() -> None:
    made = tool("dice.roll")(roll)

    with pytest.raises(ToolError, match=r"dice\.roll returned something that does not fit its output \(result: "):
        made.output(cast("Any", object()))
