from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from glados.core import (
    Agent,
    App,
    Draft,
    Entry,
    Event,
    GladosError,
    Limits,
    MemorySessionStore,
    Message,
    MessageCreated,
    Model,
    ModelDelta,
    ModelDone,
    ModelError,
    ModelRequest,
    PermissionRequested,
    RunFinished,
    StreamChunk,
    Subscription,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallPart,
    ToolCallStarted,
    ToolContext,
    ToolProgress,
    ToolResultPart,
    Usage,
    tool,
)
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

DONE = ModelDone("end", Usage(1, 1), "odd")
LOOK = ToolCallDelta(ToolCallPart("c1", "toys.look", "{}"))
WRITE = ToolCallDelta(ToolCallPart("c2", "toys.write", "{}"))
WAIT = ToolCallDelta(ToolCallPart("c3", "toys.wait", "{}"))


@tool("toys.look", read_only=True, concurrent=True, open_world=False)
async def look() -> str:
    """Look."""
    return "a cake"


@tool("toys.write")
async def write() -> str:
    """Change something."""
    return "written"


@tool("toys.wait", read_only=True)
async def wait(ctx: ToolContext) -> str:
    """Wait until it is stopped."""
    await ctx.progress("waiting")
    await asyncio.Event().wait()
    return "never"


class OddModel:
    """Yields deltas as they are given; an exception is raised, and None waits until the run is aborted."""

    name = "odd"

    def __init__(self, *answers: Sequence[ModelDelta | BaseException | None]) -> None:
        self.answers = list(answers)
        self.waits = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        for item in self.answers.pop(0):
            if isinstance(item, BaseException):
                raise item
            if item is None:
                self.waits.set()
                await asyncio.Event().wait()
            else:
                yield item

    async def close(self) -> None:
        pass


async def open_app(glados_app: AppFactory, model: Model, max_turns: int = 10) -> App:
    settings = {"model": {"max_turns": max_turns, "tries": 1}}
    return await glados_app(plugins=[plugin_of(look, write, wait)], model=model, settings=settings)


def shape(entry: Entry) -> str:
    if not isinstance(entry.payload, Message):
        return f"{entry.kind} {entry.payload.get('stop', '')}".strip()
    message = entry.payload
    parts = [f"{part.call_id}={part.code or 'ok'}" for part in message.parts if isinstance(part, ToolResultPart)]
    parts += [message.text] if message.text else []
    return " ".join([message.role, *parts, *(f"{part.id}?" for part in message.calls)])


async def history(app: App, session_id: str) -> list[str]:
    """The entries in short, after checking that the log has no gap and every call exactly one result."""
    entries = await app.sessions.entries(session_id)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    open_calls: list[str] = []
    for message in (entry.payload for entry in entries if isinstance(entry.payload, Message)):
        if message.role != "tool":
            assert open_calls == []
        open_calls += [part.id for part in message.calls]
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                open_calls.remove(part.call_id)
    assert open_calls == []
    return [shape(entry) for entry in entries]


async def listen(events: Subscription) -> list[Event]:
    heard = [await events.next()]
    while not isinstance(heard[-1], RunFinished):
        heard.append(await events.next())
    return heard


async def test_an_answer_is_streamed_written_down_and_given(glados_app: AppFactory) -> None:
    model = OddModel([ThinkingDelta("hm"), TextDelta("The cake "), TextDelta("is a lie."), DONE])
    app = await open_app(glados_app, model)
    with app.bus.subscribe() as events:
        result = await app.run("Cake?")
        heard = await listen(events)

    assert (result.text, result.stop, result.usage) == ("The cake is a lie.", "end", Usage(1, 1))
    chunks = [(event.text, event.thinking) for event in heard if isinstance(event, StreamChunk)]
    assert chunks == [("hm", True), ("The cake ", False), ("is a lie.", False)]
    assert await history(app, result.session_id) == ["user Cake?", "assistant The cake is a lie.", "run_end end"]


async def test_results_of_tools_go_back_to_the_model_until_it_stops(glados_app: AppFactory) -> None:
    model = ScriptedModel(["Let me look.", call("toys.look", "a")], [call("toys.look", "b")] * 2, "A cake.")
    app = await open_app(glados_app, model)
    result = await app.run("What is there?")

    assert (result.text, result.usage) == ("A cake.", Usage(3, 3))
    assert [(step.kind, step.name) for step in result.steps] == [
        ("model", "scripted"),
        ("tool", "toys.look"),
        ("model", "scripted"),
        ("tool", "toys.look"),
        ("tool", "toys.look"),
        ("model", "scripted"),
    ]
    sent = model.requests[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "tool"]
    assert sent[2].parts == (ToolResultPart("a_1_1", "toys.look", '{"result":"a cake"}'),)
    await history(app, result.session_id)


async def test_the_prompt_is_stored_before_the_model_is_called(glados_app: AppFactory) -> None:
    class Peeking(OddModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            [session] = await app.sessions.list()
            seen.extend([shape(entry) for entry in await app.sessions.entries(session.id)])
            yield TextDelta("Hi.")
            yield DONE

    seen: list[str] = []
    app = await open_app(glados_app, Peeking())
    await app.run("Hello")

    assert seen == ["user Hello"]


async def test_a_second_run_continues_the_conversation(glados_app: AppFactory) -> None:
    model = ScriptedModel("Hi.", "Still here.")
    app = await open_app(glados_app, model)
    first = await app.run("Hello")
    await app.run("And now?", session=first.session_id)

    assert [message.text for message in model.requests[1].messages] == ["Hello", "Hi.", "And now?"]


async def test_context_of_plugins_and_instructions_are_the_system_prompt(glados_app: AppFactory) -> None:
    model = ScriptedModel("Hi.")
    app = await glados_app(plugins=[plugin_of(look, context=["There is cake."])], model=model)
    await app.run("Hello", agent=Agent(instructions="Be kind."))

    system = model.requests[0].system
    assert system.startswith("Be kind.\n\n")
    assert "\n\nThere is cake.\n\nToday is " in system


async def test_a_run_stops_at_the_limit_of_turns_with_what_was_reached(glados_app: AppFactory) -> None:
    model = ScriptedModel(["One.", call("toys.look")], ["Two.", call("toys.look")], "Never.")
    app = await open_app(glados_app, model, max_turns=2)
    result = await app.run("Go on")

    assert (result.text, result.stop, len(model.requests)) == ("Two.", "max_turns", 2)
    assert (await history(app, result.session_id))[-2:] == ["tool call_toys.look_2_1=ok", "run_end max_turns"]


async def test_an_agent_has_limits_of_its_own(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(call("toys.look"), "Never."))

    assert (await app.run("Go on", agent=Agent(limits=Limits(turns=1)))).stop == "max_turns"


async def test_events_come_in_order_and_only_stored_ones_have_a_seq(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(["Wait.", call("toys.write", "w")], "Done."))
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        await app.run("Write", session=session.id, on_question=lambda _: "once")
        heard = await listen(events)

    assert [event.type.partition(":")[2] for event in heard] == [
        *("run_start", "created", "stream_chunk", "created", "requested", "granted"),
        *("tool_call_start", "tool_call_end", "created", "stream_chunk", "created", "run_end"),
    ]
    assert [event.seq for event in heard if event.seq is not None] == list(range(1, 8))
    assert [event.n for event in heard if event.n is not None] == list(range(1, 6))
    assert all((event.seq is None) != (event.n is None) for event in heard)
    assert {event.run_id for event in heard} == {heard[0].run_id}


async def test_entries_say_what_happened_and_in_which_run(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel(call("toys.write", "w"), "Done."))
    result = await app.run("Write", on_question=lambda _: "once")
    entries = [entry.to_dict() for entry in await app.sessions.entries(result.session_id)]

    assert [entry["kind"] for entry in entries] == [
        *("message", "message", "permission_question", "permission_answer", "message", "message", "run_end")
    ]
    assert {entry["run_id"] for entry in entries} == {result.run_id}
    assert entries[2]["payload"]["id"] == entries[3]["payload"]["id"]
    assert entries[5]["payload"] == {
        "role": "assistant",
        "parts": [{"type": "text", "text": "Done."}],
        "model": "scripted",
    }
    assert entries[6]["payload"] == {"run_id": result.run_id, "stop": "end", "error": None}


async def test_an_answer_that_was_filtered_says_why(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([TextDelta("Half"), ModelDone("content_filter", None, "odd")]))
    result = await app.run("Hello")

    assert (result.text, result.stop, result.usage) == ("Half", "content_filter", Usage())


async def test_an_empty_answer_is_an_error_and_the_next_run_works(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([DONE], [TextDelta("Back."), DONE]))
    session = await app.create_session()
    with pytest.raises(ModelError, match="nothing at all"):
        await app.run("Hello", session=session.id)

    assert (await app.run("Hello?", session=session.id)).text == "Back."


async def test_calls_with_the_same_id_in_one_answer_are_told_apart(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([LOOK, LOOK, DONE], [TextDelta("Two."), DONE]))
    result = await app.run("Look")

    assert len({step.call_id for step in result.steps if step.kind == "tool"}) == 2
    await history(app, result.session_id)


async def test_calls_with_the_same_id_in_two_turns_keep_their_results(glados_app: AppFactory) -> None:
    model = OddModel([LOOK, DONE], [LOOK, WAIT, DONE])
    app = await open_app(glados_app, model)
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Look", session=session.id))
        await next_of(events, ToolProgress)
        await app.abort(session.id)

    assert (await running).stop == "aborted"
    assert (await history(app, session.id))[-3:] == ["tool c1=ok", "tool c3=aborted", "run_end aborted"]


@pytest.mark.parametrize(
    ("answer", "code", "entries"),
    [
        ([ModelError("No.")], "model_failed", []),
        ([TextDelta("Half"), ModelError("No.")], "model_failed", ["assistant Half"]),
        ([TextDelta("Half")], "model_stream_cut", ["assistant Half"]),
        ([], "model_stream_cut", []),
        ([LOOK, ModelError("No.")], "model_failed", ["assistant c1?", "tool c1=*"]),
        ([WRITE, ModelError("No.")], "model_failed", ["assistant c2?", "tool c2=aborted"]),
        ([KeyError("choices")], "model_failed", []),
        ([SystemExit(3)], "model_failed", []),
    ],
    ids=["before", "after-text", "cut-text", "cut", "after-a-call", "after-an-unreleased-call", "unexpected", "exit"],
)
async def test_an_error_of_the_model_is_raised_and_told_and_the_history_stays_valid(
    answer: list[Any], code: str, entries: list[str], glados_app: AppFactory
) -> None:
    app = await open_app(glados_app, OddModel(answer, [TextDelta("Back."), DONE]))
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events, pytest.raises(GladosError) as caught:
        await app.run("Hello", session=session.id)
    finished = (await listen(events))[-1]

    assert caught.value.code == code
    assert finished.payload()["error"] == caught.value.to_dict()
    assert finished.payload()["stop"] == "error"
    log = [line.replace("=ok", "=*").replace("c1=aborted", "c1=*") for line in await history(app, session.id)]
    assert log == ["user Hello", *entries, "run_end error"]
    assert (await app.run("Again", session=session.id)).text == "Back."


async def test_an_error_of_the_model_that_is_none_of_ours_names_the_model(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([KeyError("choices")]))

    with pytest.raises(ModelError, match="The model 'odd' raised KeyError: 'choices'"):
        await app.run("Hello")


async def aborted_run(app: App, when: Any) -> tuple[list[str], str]:
    """Run until `when`, abort, and give the history after checking that nothing is left and a next run works."""
    before = asyncio.all_tasks()
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id, on_question="wait"))
        await when(events)
        assert await app.abort(session.id)
        finished = (await listen(events))[-1]
    result = await running

    assert (result.stop, finished.payload()["stop"]) == ("aborted", "aborted")
    assert asyncio.all_tasks() == before
    log = await history(app, session.id)
    assert (await app.run("Again", session=session.id)).text == "Back."
    return log, result.text


@pytest.mark.parametrize(
    ("answer", "text", "entries"),
    [
        ([None], "", []),
        ([TextDelta("Half"), None], "Half", ["assistant Half"]),
        ([LOOK, None], "", ["assistant c1?", "tool c1=ok"]),
        ([WRITE, None], "", ["assistant c2?", "tool c2=aborted"]),
        ([TextDelta("So"), LOOK, WRITE, None], "So", ["assistant So c1? c2?", "tool c1=ok c2=aborted"]),
    ],
    ids=["silent", "text", "read-call", "write-call", "all"],
)
async def test_an_abort_while_the_model_answers_keeps_what_arrived(
    answer: list[Any], text: str, entries: list[str], glados_app: AppFactory
) -> None:
    model = OddModel(answer, [TextDelta("Back."), DONE])
    app = await open_app(glados_app, model)

    async def when(events: Subscription) -> None:
        await model.waits.wait()
        if LOOK in answer:
            await next_of(events, ToolCallEnded)

    log, said = await aborted_run(app, when)
    assert (log, said) == (["user Hello", *entries, "run_end aborted"], text)


async def test_an_abort_while_a_question_waits_denies_it(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([WRITE, WRITE, DONE], [TextDelta("Back."), DONE]))
    log, _ = await aborted_run(app, lambda events: next_of(events, PermissionRequested))

    assert log[2:4] == ["permission_question", "permission_answer"]
    assert log[4].startswith("tool c2=aborted ")
    assert app.permissions.pending() == []
    [session] = await app.sessions.list()
    texts = [str(entry.to_dict()["payload"]) for entry in await app.sessions.entries(session.id)]
    assert not any("outcome is unknown" in text for text in texts)


async def test_an_abort_while_tools_run_ends_them_and_tells_their_end(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, OddModel([LOOK, WAIT, WRITE, DONE], [TextDelta("Back."), DONE]))
    ended: list[str | None] = []
    with app.bus.subscribe() as events:
        log, _ = await aborted_run(app, lambda events: next_of(events, ToolProgress))
        for event in await listen(events):
            ended += [event.code] if isinstance(event, ToolCallEnded) else []

    assert log[2:4] == ["tool c1=ok", "tool c3=aborted c2=aborted"]
    assert ended == [None, "aborted"]


class SlowStore(MemorySessionStore):
    """Holds back one append until it is let go."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def append(self, session_id: str, drafts: Sequence[Draft], **options: Any) -> Sequence[Entry]:
        self.left -= 1
        if self.left == 0:
            self.reached.set()
            await self.go.wait()
        return await super().append(session_id, drafts, **options)


@pytest.mark.parametrize("number", range(1, 6))
async def test_an_abort_while_something_is_written_down_waits_for_it(number: int, glados_app: AppFactory) -> None:
    store = SlowStore(number)
    model = ScriptedModel(["So.", call("toys.look", "a")], "Done.", "Back.")
    app = await glados_app(plugins=[plugin_of(look)], model=model, store=store)
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id))
        await store.reached.wait()
        aborts = [asyncio.create_task(app.abort(session.id)) for _ in range(3)]
        await asyncio.sleep(0)
        store.go.set()
        await asyncio.gather(*aborts)
    told = [event.seq async for event in events if event.seq is not None]

    assert told == [entry.seq for entry in await app.sessions.entries(session.id)]

    full = ["user Hello", "assistant So. a_1_1?", "tool a_1_1=ok", "assistant Done."]
    log = await history(app, session.id)
    assert log[: min(number, 4)] == full[:number]
    assert log[-1] == f"run_end {(await running).stop}"
    assert len([line for line in log if line.startswith("run_end")]) == 1


async def test_a_second_abort_does_not_break_the_first(glados_app: AppFactory) -> None:
    ends, cleaning = asyncio.Event(), asyncio.Event()

    @tool("toys.slow", read_only=True)
    async def slow() -> int:
        """Clean up slowly."""
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await ends.wait()
        return 1

    app = await glados_app(plugins=[plugin_of(slow)], model=ScriptedModel(call("toys.slow", "s")))
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id))
        await next_of(events, ToolCallStarted)
        first = asyncio.create_task(app.abort(session.id))
        await cleaning.wait()
        second = asyncio.create_task(app.abort(session.id))
        await asyncio.sleep(0)
        ends.set()

    assert [await first, await second, (await running).stop] == [True, True, "aborted"]
    assert (await history(app, session.id))[-2:] == ["tool s_1_0=aborted", "run_end aborted"]


class BrokenStore(MemorySessionStore):
    """Fails from the n-th append on."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number

    async def append(self, session_id: str, drafts: Sequence[Draft], **options: Any) -> Sequence[Entry]:
        self.left -= 1
        if self.left <= 0:
            raise OSError("disk full")
        return await super().append(session_id, drafts, **options)


@pytest.mark.parametrize("number", range(1, 6))
async def test_a_store_that_fails_ends_the_run_and_the_end_is_told(number: int, glados_app: AppFactory) -> None:
    model = ScriptedModel(["So.", call("toys.look", "a")], "Done.")
    app = await glados_app(plugins=[plugin_of(look)], model=model, store=BrokenStore(number))
    heard = [event async for event in app.stream("Hello")]

    assert heard[-1].payload()["stop"] == "error"
    assert "disk full" in heard[-1].payload()["error"]["message"]
    assert heard[-1].seq is None


async def test_a_call_whose_result_was_lost_gets_one_when_the_session_goes_on(glados_app: AppFactory) -> None:
    store = BrokenStore(3)
    model = ScriptedModel(["So.", call("toys.look", "a"), call("toys.look", "b")], "Back.")
    app = await glados_app(plugins=[plugin_of(look)], model=model, store=store)
    session = await app.create_session()
    with pytest.raises(GladosError, match="disk full"):
        await app.run("Hello", session=session.id)
    store.left = 100
    await app.run("Again", session=session.id)

    log = await history(app, session.id)
    closed = ["tool a_1_1=interrupted b_1_2=interrupted", "run_end interrupted"]
    assert log[1:5] == ["assistant So. a_1_1? b_1_2?", *closed, "user Again"]
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool", "user"]


async def test_half_characters_of_a_model_are_replaced(glados_app: AppFactory) -> None:
    broken = ToolCallDelta(ToolCallPart("c", "toys.look", '{"a": "\udc00"}'))
    app = await open_app(
        glados_app, OddModel([TextDelta("\ud83d\ude00 \ud800"), broken, DONE], [TextDelta("\udc00"), DONE])
    )
    result = await app.run("Half \udc00")

    assert result.text == "�"
    for entry in await app.sessions.entries(result.session_id):
        str(entry.to_dict()).encode()


async def test_a_message_is_told_after_it_was_stored(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel("Hi."))
    stored: list[int] = []
    publish = app.bus.publish

    def peek(event: Event) -> None:
        if isinstance(event, MessageCreated) and isinstance(app.sessions, MemorySessionStore):
            stored.append(len(app.sessions._logs[event.session_id or ""].entries))
        publish(event)

    app.bus.publish = peek  # pyright: ignore[reportAttributeAccessIssue]
    await app.run("Hello")

    assert stored == [1, 2]
