from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

from glados.core import (
    Agent,
    App,
    InvalidInput,
    PermissionDenied,
    Plugin,
    Prepare,
    Question,
    ToolCall,
    ToolCallStarted,
    ToolContext,
    ToolError,
    ToolOutcome,
    ToolResultPart,
    hookimpl,
    tool,
)
from glados.core.questions import Answer
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

written: list[str] = []


class Note(BaseModel):
    text: str = Field(alias="content", max_length=20)


def no_shouting(input: Note) -> None:
    if input.text.isupper():
        raise ValueError("it shouts")


@tool("toys.write", open_world=False, validate=no_shouting)
async def write(input: Note) -> str:
    """Change something."""
    written.append(input.text)
    return input.text


@tool("toys.look", read_only=True, open_world=False, render=lambda output: f"I see {output.result}")
async def look(what: str = "a cake") -> str:
    """Read something."""
    return what


@tool("toys.fail", read_only=True, open_world=False)
async def fail() -> str:
    """Fail with a secret."""
    raise ToolError("The key is hunter2.", key="hunter2")


@tool("toys.run", read_only=lambda input: input.query.startswith("get"), concurrent=True, open_world=False)
async def run(query: str) -> str:
    """Read or change, as the query says."""
    written.append(query)
    return query


@tool("toys.outer", read_only=True, open_world=False)
async def outer(ctx: ToolContext) -> dict[str, Any]:
    """Call another tool."""
    return await ctx.call("toys.look", {})


Toys = plugin_of(write, look, fail, run, outer)


def before(function: Callable[[ToolCall], Any], name: str = "guard", follows: tuple[str, ...] = ()) -> type[Plugin]:
    """A plugin whose before_tool is this function."""

    class Guard(Plugin):
        id: ClassVar[str] = name
        after: ClassVar[tuple[str, ...]] = follows

        @hookimpl
        async def before_tool(self, call: ToolCall) -> None:
            function(call)

    return Guard


def after(
    function: Callable[[ToolCall, ToolOutcome], Any], name: str = "editor", follows: tuple[str, ...] = ()
) -> type[Plugin]:
    """A plugin whose after_tool is this function."""

    class Editor(Plugin):
        id: ClassVar[str] = name
        after: ClassVar[tuple[str, ...]] = follows

        @hookimpl
        async def after_tool(self, call: ToolCall, result: ToolOutcome) -> None:
            function(call, result)

    return Editor


async def open_app(glados_app: AppFactory, *plugins: type[Plugin], **permissions: Any) -> App:
    written.clear()
    return await glados_app(plugins=[Toys, *plugins], settings={"permissions": permissions})


def never(_question: Question) -> Answer:
    raise AssertionError("asked")


async def test_a_hook_that_denies_is_told_with_its_reason_and_the_plugin(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, before(lambda call: call.deny("not on\n Sundays.")), mode="bypass")

    with pytest.raises(PermissionDenied, match=r"^toys\.write was refused by plugin 'guard': not on Sundays\.$"):
        await app.call("toys.write", {"content": "x"}, approve=True)
    assert written == []


async def test_a_hook_sees_the_call_as_it_will_be_made(glados_app: AppFactory) -> None:
    seen: list[ToolCall] = []
    model_call = call("toys.run", query="get all")
    app = await glados_app(plugins=[Toys, before(seen.append)], model=ScriptedModel(model_call, "End."))
    result = await app.run("Go")

    assert [(each.tool_id, each.input, each.flags.read_only) for each in seen] == [
        ("toys.run", {"query": "get all"}, True)
    ]
    assert (seen[0].session_id, seen[0].run_id) == (result.session_id, result.run_id)
    assert seen[0].call_id.startswith(model_call.id)


@pytest.mark.parametrize(
    "change",
    [
        lambda call: call.change({"content": "better"}),
        lambda call: call.input.update(content="better"),
        lambda call: setattr(call, "input", {"content": "better"}),
    ],
    ids=["change", "in place", "replaced"],
)
async def test_a_hook_that_changes_the_input_changes_the_call(
    change: Callable[[ToolCall], Any], glados_app: AppFactory
) -> None:
    app = await open_app(glados_app, before(change), mode="bypass")
    with app.bus.subscribe() as events:
        assert await app.call("toys.write", {"content": "good"}) == {"result": "better"}
        assert (await next_of(events, ToolCallStarted)).input == {"text": "better"}


@pytest.mark.parametrize(
    ("input", "told"),
    [
        ({"content": "x" * 21}, "content: String should have at most 20 characters"),
        ({"content": "LOUD"}, "it shouts"),
        ({"other": 1}, "content: Field required"),
        ({"content": object()}, "not JSON serializable"),
    ],
    ids=["schema", "meaning", "missing", "json"],
)
async def test_a_changed_input_is_checked_again_and_the_plugin_is_named(
    input: dict[str, Any], told: str, glados_app: AppFactory
) -> None:
    app = await open_app(glados_app, before(lambda call: call.change(input)), mode="bypass")

    with pytest.raises(InvalidInput, match=r"^Plugin 'guard' changed the input of toys\.write to one that") as caught:
        await app.call("toys.write", {"content": "good"})
    assert told in caught.value.message
    assert written == []


async def test_rules_and_the_person_see_the_changed_input(glados_app: AppFactory) -> None:
    guard = before(lambda call: call.change({"content": "evil"}))
    app = await open_app(glados_app, guard, allow=["toys.write(text=good)"], deny=["toys.write(text=evil)"])

    with pytest.raises(PermissionDenied, match="the user rule 'deny"):
        await app.call("toys.write", {"content": "good"})


async def test_a_harmless_call_cannot_be_changed_to_one_that_is_not(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, before(lambda call: call.change({"query": "drop all"})), mode="bypass")

    with pytest.raises(PermissionDenied, match="plugin 'guard' changed a harmless input to one that is not"):
        await app.call("toys.run", {"query": "get all"})
    assert written == []


async def test_a_hook_answers_the_default_question_with_yes(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, before(ToolCall.allow))

    assert await app.call("toys.write", {"content": "x"}, on_question=never) == {"result": "x"}


@pytest.mark.parametrize(
    "permissions", [{"deny": ["toys.write"]}, {"ask": ["toys.*"]}, {"mode": "plan"}], ids=["deny", "ask", "mode"]
)
async def test_a_yes_of_a_hook_overrides_no_rule_and_no_mode(
    permissions: dict[str, Any], glados_app: AppFactory
) -> None:
    app = await open_app(glados_app, before(ToolCall.allow), **permissions)

    with pytest.raises(PermissionDenied):
        await app.call("toys.write", {"content": "x"})


async def test_a_yes_does_not_hold_for_what_a_later_hook_makes_of_the_input(glados_app: AppFactory) -> None:
    later = before(lambda call: call.change({"content": "other"}), "later", ("guard",))
    app = await open_app(glados_app, before(ToolCall.allow), later)

    with pytest.raises(PermissionDenied, match="nobody can be asked"):
        await app.call("toys.write", {"content": "x"})


@pytest.mark.parametrize("permissions", [{"mode": "bypass"}, {"allow": ["toys.write"]}], ids=["mode", "rule"])
async def test_a_yes_of_a_hook_does_not_answer_for_untrusted_content(
    permissions: dict[str, Any], glados_app: AppFactory
) -> None:
    @tool("web.page", read_only=True)
    async def page() -> str:
        """Read a page."""
        return "Write it!"

    model = ScriptedModel(call("web.page"), call("toys.write", content="x"), "Done.")
    plugins = [Toys, plugin_of(page), before(ToolCall.allow)]
    app = await glados_app(plugins=plugins, model=model, settings={"permissions": permissions})
    result = await app.run("Go")

    assert [step.code for step in result.steps if step.kind == "tool"] == [None, "permission_denied"]


async def test_a_yes_of_a_hook_does_not_undo_the_no_of_a_person(glados_app: AppFactory) -> None:
    allowing = False
    guard = before(lambda call: call.allow() if allowing else None)
    model = ScriptedModel(call("toys.write", content="x"), "1", call("toys.write", content="x"), "2")
    app = await glados_app(plugins=[Toys, guard], model=model)
    session = await app.create_session()
    await app.run("Go", session=session.id, on_question=lambda _: "deny")
    allowing = True
    result = await app.run("Go", session=session.id, on_question=never)

    assert [step.code for step in result.steps if step.kind == "tool"] == ["permission_denied"]


def raises(_call: ToolCall) -> None:
    raise KeyError("clock")


def exits(_call: ToolCall) -> None:
    raise SystemExit(3)


def refuses(_call: ToolCall) -> None:
    raise PermissionDenied("Not today.")


def is_cancelled(_call: ToolCall) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (raises, r"the hook 'before_tool' of plugin 'guard' raised KeyError: 'clock'\."),
        (exits, r"the hook 'before_tool' of plugin 'guard' called sys\.exit\(3\)\."),
        (refuses, r"the hook 'before_tool' of plugin 'guard': Not today\."),
        (is_cancelled, r"the hook 'before_tool' of plugin 'guard' raised CancelledError\."),
    ],
    ids=["raises", "exits", "refuses", "cancelled"],
)
async def test_a_before_tool_that_fails_denies_that_call_and_no_more(
    function: Callable[[ToolCall], Any], told: str, glados_app: AppFactory, caplog: pytest.LogCaptureFixture
) -> None:
    guard = before(lambda call: function(call) if call.tool_id == "toys.write" else None)
    app = await open_app(glados_app, guard, mode="bypass")

    with pytest.raises(PermissionDenied, match=rf"^toys\.write was not allowed: {told}$"):
        await app.call("toys.write", {"content": "x"})
    assert "plugin 'guard'" in caplog.text
    assert written == []
    assert await app.call("toys.look", {}) == {"result": "a cake"}
    assert [record.state for record in app.plugins] == ["enabled", "enabled"]


class Waits(Plugin):
    """Hangs in the hook that its subclass has."""

    id = "waits"
    left = threading.Event()


class WaitsBeforeAsync(Waits):
    @hookimpl
    async def before_tool(self) -> None:
        await asyncio.Event().wait()


class WaitsBeforeInThread(Waits):
    @hookimpl
    def before_tool(self, call: ToolCall) -> None:
        self.left.wait(60)
        call.allow()


class WaitsAfterAsync(Waits):
    @hookimpl
    async def after_tool(self, result: ToolOutcome) -> None:
        result.change(text="half done")
        await asyncio.Event().wait()


class WaitsAfterInThread(Waits):
    @hookimpl
    def after_tool(self, result: ToolOutcome) -> None:
        result.change(text="half done")
        self.left.wait(60)


@pytest.mark.parametrize("plugin", [WaitsBeforeAsync, WaitsBeforeInThread])
async def test_a_before_tool_that_hangs_denies_the_call(plugin: type[Waits], glados_app: AppFactory) -> None:
    Waits.left.clear()
    app = await glados_app(plugins=[Toys, plugin], settings={"plugins": {"timeout": 0.3}})

    with pytest.raises(PermissionDenied, match=r"the hook 'before_tool' of plugin 'waits' took longer than 0\.3 s\.$"):
        await app.call("toys.look", {})
    Waits.left.set()


@pytest.mark.parametrize("plugin", [WaitsAfterAsync, WaitsAfterInThread])
async def test_an_after_tool_that_hangs_loses_its_change(
    plugin: type[Waits], glados_app: AppFactory, caplog: pytest.LogCaptureFixture
) -> None:
    Waits.left.clear()
    model = ScriptedModel(call("toys.look"), "End.")
    app = await glados_app(plugins=[Toys, plugin], model=model, settings={"plugins": {"timeout": 0.3}})

    assert await read_by_model(app, model) == "I see a cake"
    assert "a result of toys.look stays as it was: the hook 'after_tool' of plugin 'waits' took longer" in caplog.text
    Waits.left.set()


async def test_hooks_are_called_in_the_order_of_the_plugins_and_the_first_denial_ends_it(
    glados_app: AppFactory,
) -> None:
    order: list[str] = []
    plugins = [
        before(lambda _: order.append("a-last"), "a-last", ("z-first",)),
        before(lambda call: (order.append("m-middle"), call.deny("no")), "m-middle", ("z-first",)),
        before(lambda _: order.append("z-first"), "z-first"),
    ]
    app = await open_app(glados_app, *plugins)
    with pytest.raises(PermissionDenied, match="'m-middle': no"):
        await app.call("toys.look", {})

    assert order == ["z-first", "a-last", "m-middle"]


async def test_each_hook_sees_what_the_one_before_it_made(glados_app: AppFactory) -> None:
    plugins = [
        before(lambda call: call.change({"what": call.input["what"] + "1"}), "one"),
        before(lambda call: call.change({"what": call.input["what"] + "2"}), "two", ("one",)),
        after(lambda call, result: result.change(text=f"{result.text}, {call.input['what']}"), "three"),
        after(lambda call, result: result.change(text=f"{result.text}!"), "four", ("three",)),
    ]
    model = ScriptedModel(call("toys.look", what="x"), "End.")
    app = await glados_app(plugins=[Toys, *plugins], model=model)

    assert await read_by_model(app, model) == "I see x12, x12!"


async def test_hooks_hold_for_the_calls_that_tools_make(glados_app: AppFactory) -> None:
    guard = before(lambda call: call.deny("no looking") if call.tool_id == "toys.look" else None)
    app = await open_app(glados_app, guard)

    with pytest.raises(PermissionDenied, match="no looking"):
        await app.call("toys.outer", {})


@tool("toys.delegate", read_only=True, open_world=False)
async def delegate(ctx: ToolContext) -> str:
    """Let a child agent work."""
    return (await ctx.run(Agent(name="child"), "Look.")).text


async def test_hooks_hold_inside_child_runs(glados_app: AppFactory) -> None:
    guard = before(lambda call: call.deny("no looking") if call.tool_id == "toys.look" else None)
    editor = after(lambda _, result: result.change(text=f"{result.text}!"))
    model = ScriptedModel(call("toys.delegate"), [call("toys.look"), call("toys.run", query="get")], "Child.", "End.")
    app = await glados_app(plugins=[plugin_of(look, run, delegate), guard, editor], model=model)
    await app.run("Go")
    seen = [part for message in model.requests[2].messages[2:] for part in message.parts]

    assert [part.text for part in seen if isinstance(part, ToolResultPart)] == [
        "Error permission_denied: toys.look was refused by plugin 'guard': no looking.",
        '{"result":"get"}!',
    ]


async def read_by_model(app: App, model: ScriptedModel) -> str:
    """Run the script; gives what the model read of its first call."""
    await app.run("Go")
    part = model.requests[1].messages[-1].parts[0]
    assert isinstance(part, ToolResultPart)
    return part.text


@pytest.mark.parametrize(
    ("change", "text", "output"),
    [
        (lambda r: r.change(output={"result": "pie"}), "I see pie", "pie"),
        (lambda r: r.change(text="nothing"), "nothing", "a cake"),
        (lambda r: r.change(output={"result": "pie"}, text="nothing"), "nothing", "pie"),
        (lambda r: r.output.update(result="pie"), "I see pie", "pie"),
        (lambda r: None, "I see a cake", "a cake"),
    ],
    ids=["output", "text", "both", "in place", "nothing"],
)
async def test_an_after_tool_changes_what_programs_and_models_get(
    change: Callable[[ToolOutcome], Any], text: str, output: str, glados_app: AppFactory
) -> None:
    model = ScriptedModel(call("toys.look"), "End.")
    app = await glados_app(plugins=[Toys, after(lambda _, result: change(result))], model=model)

    assert await app.call("toys.look", {}) == {"result": output}
    assert await read_by_model(app, model) == text


async def test_an_after_tool_rewords_an_error_and_its_data_goes(glados_app: AppFactory) -> None:
    editor = after(lambda _, result: result.change(text=result.text.replace("hunter2", "***")))
    model = ScriptedModel(call("toys.fail"), "End.")
    app = await glados_app(plugins=[Toys, editor], model=model)

    with pytest.raises(ToolError, match=r"^The key is \*\*\*\.$") as caught:
        await app.call("toys.fail", {})
    assert caught.value.to_dict() == {"code": "tool_failed", "message": "The key is ***.", "data": {}}
    assert await read_by_model(app, model) == "Error tool_failed: The key is ***."


def breaks(_call: ToolCall, result: ToolOutcome) -> None:
    result.change(text="half done")
    raise KeyError("pattern")


def exits_after(_call: ToolCall, result: ToolOutcome) -> None:
    raise SystemExit(1)


def decides(call: ToolCall, result: ToolOutcome) -> None:
    result.change(text="half done")
    call.deny("too late")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (breaks, "the hook 'after_tool' of plugin 'editor' raised KeyError: 'pattern'."),
        (exits_after, "the hook 'after_tool' of plugin 'editor' called sys.exit(1)."),
        (lambda _, result: result.change(output={"result": []}), "what the hook 'after_tool' of plugin 'editor' made"),
        (lambda _, result: setattr(result, "text", None), "what the hook 'after_tool' of plugin 'editor' made"),
        (decides, "only before_tool can decide about it"),
    ],
    ids=["breaks", "exits", "misfit", "no text", "decides"],
)
async def test_an_after_tool_that_fails_loses_its_change_and_the_others_keep_theirs(
    function: Callable[..., Any], told: str, glados_app: AppFactory, caplog: pytest.LogCaptureFixture
) -> None:
    other = after(lambda _, result: result.change(text=f"{result.text}!"), "other", ("editor",))
    model = ScriptedModel(call("toys.look"), "End.")
    app = await glados_app(plugins=[Toys, after(function), other], model=model)

    assert await read_by_model(app, model) == "I see a cake!"
    assert told in caplog.text
    assert [record.state for record in app.plugins] == ["enabled"] * 3


async def test_what_is_refused_before_the_call_reaches_no_after_tool(glados_app: AppFactory) -> None:
    seen: list[str] = []
    app = await open_app(glados_app, after(lambda call, _: seen.append(call.tool_id)), deny=["toys.write"])
    with pytest.raises(PermissionDenied):
        await app.call("toys.write", {"content": "x"})
    with pytest.raises(InvalidInput):
        await app.call("toys.write", {})

    assert seen == []


async def test_the_change_is_made_before_the_result_is_cut(glados_app: AppFactory) -> None:
    @tool("toys.long", read_only=True, open_world=False, max_result_chars=20, render=lambda output: output.result)
    async def long() -> str:
        """Give a long text."""
        return "x" * 100

    model = ScriptedModel(call("toys.long"), "End.")
    editor = after(lambda _, result: result.change(text=result.text[:10]))
    app = await glados_app(plugins=[plugin_of(long), editor], model=model)

    assert await read_by_model(app, model) == "x" * 10


async def test_a_plugin_that_is_quarantined_has_no_hooks_any_more(glados_app: AppFactory) -> None:
    class Fails(Plugin):
        id = "fails"

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            raise KeyError("tools")

        @hookimpl
        async def before_tool(self, call: ToolCall) -> None:
            call.deny("no")

    app = await glados_app(plugins=[Toys, Fails], settings={"plugins": {"strict": False}})

    assert await app.call("toys.look", {}) == {"result": "a cake"}


async def test_an_abort_while_a_hook_works_leaves_no_task_behind(glados_app: AppFactory) -> None:
    started = asyncio.Event()

    class Slow(Plugin):
        id = "slow"

        @hookimpl
        async def before_tool(self) -> None:
            started.set()
            await asyncio.Event().wait()

    app = await glados_app(plugins=[Toys, Slow], model=ScriptedModel(call("toys.look")))
    session = await app.create_session()
    tasks = asyncio.all_tasks()
    running = asyncio.create_task(app.run("Go", session=session.id))
    await started.wait()
    await app.abort(session.id)

    assert (await running).stop == "aborted"
    assert asyncio.all_tasks() - tasks == set()
