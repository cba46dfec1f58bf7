"""Runs whose process died: they go on where they stood, or are closed; nothing that changes something is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from glados.core import (
    Agent,
    App,
    Entry,
    GladosError,
    MemorySessionStore,
    Message,
    ModelDelta,
    ModelRequest,
    Session,
    SessionEntry,
    StreamChunk,
    TextDelta,
    ToolContext,
    compaction,
    restarts,
    tool,
)
from glados.core.errors import RunLost, SessionBusy
from glados.core.messages import ToolResultPart
from glados.core.sessions import timestamp
from glados.core.testing import AppFactory, call, next_of, plugin_of
from packages.core.tests.crashes import Disk, Process, Teller, checked, until_dead, until_done

done: Counter[str] = Counter()


@tool("toys.look", read_only=True, concurrent=True, open_world=False)
async def look(at: str) -> str:
    """Look."""
    done["look"] += 1
    return f"seen {at}"


@tool("toys.change", open_world=False)
async def change() -> str:
    """Change something."""
    done["change"] += 1
    return "changed"


@tool("toys.put", idempotent=True, open_world=False)
async def put() -> str:
    """Put something where it may be already."""
    done["put"] += 1
    return "put"


SCRIPT: Any = (
    ["Let me see.", call("toys.look", "a", at="a"), call("toys.look", "b", at="b")],
    [call("toys.change", "c")],
    [call("toys.put", "p")],
    ["Done."],
)
SETTINGS = {"permissions": {"allow": ["toys.put"]}}
TOOLS = plugin_of(look, change, put)
APPENDS = 11  # prompt, looks and their results, change with question, answer and result, put and its result, Done, end
UNSURE = (4, 6)  # after these nobody knows whether `change` has begun


async def start(glados_app: AppFactory, store: Process, recovers: bool = True, **options: Any) -> tuple[App, Teller]:
    model = options.pop("model", None) or Teller(*SCRIPT)
    chosen: dict[str, Any] = {"plugins": [TOOLS], "settings": SETTINGS, **options}
    return await glados_app(model=model, store=store, recovers=recovers, **chosen), model


async def crashed(glados_app: AppFactory, after: int | None, recovers: bool = True) -> tuple[Disk, str, Teller]:
    """A run whose process dies with that append."""
    done.clear()
    process = Process(Disk(), after)
    app, model = await start(glados_app, process, recovers)
    session = await app.create_session("A session")
    on_question: Any = "wait" if after == 5 else lambda _: "once"
    await until_dead(app, process, "Go", session.id, on_question=on_question)
    return process.disk, session.id, model


def without_result(message: Message, call_id: str) -> Message:
    parts = tuple(part for part in message.parts if not (isinstance(part, ToolResultPart) and part.call_id == call_id))
    return Message(message.role, parts, message.model, message.stop)


@pytest.mark.parametrize("after", range(1, APPENDS + 1))
async def test_a_run_goes_on_with_the_same_history_wherever_its_process_died(
    after: int, glados_app: AppFactory
) -> None:
    _, _, whole = await crashed(glados_app, None)
    disk, session_id, first = await crashed(glados_app, after)
    process = Process(disk)
    app, model = await start(glados_app, process)
    await until_done(app, process)

    log = checked(await process.entries(session_id))
    assert log[-1] == "run_end end"
    assert log.count("run_resume") == (after < APPENDS)
    assert done["change"] == (0 if after == 4 else 1)
    for number, request in model.requests.items():
        assert request.system == whole.requests[number].system
        assert [t.id for t in request.tools] == [t.id for t in whole.requests[number].tools]
        pairs = zip(request.messages, whole.requests[number].messages, strict=True)
        for ours, theirs in pairs:
            if after in UNSURE:
                ours, theirs = without_result(ours, "c"), without_result(theirs, "c")
            assert ours == theirs
    assert {*first.requests, *model.requests} == {0, 1, 2, 3}
    assert ("tool c=interrupted" in log) == (after in UNSURE)


@pytest.mark.parametrize("after", range(1, APPENDS))
async def test_a_recovery_that_is_killed_is_recovered_from_too(after: int, glados_app: AppFactory) -> None:
    again = 0
    while True:
        again += 1
        disk, session_id, _ = await crashed(glados_app, after)
        second = Process(disk, again)
        app, _ = await start(glados_app, second)
        await until_done(app, second)
        third = Process(disk)
        app, _ = await start(glados_app, third)
        await until_done(app, third)

        log = checked(await third.entries(session_id))
        assert log[-1] == "run_end end"
        assert log.count("run_end end") == 1
        assert done["change"] <= 1
        if second.left:  # it had time enough
            return


@pytest.mark.parametrize("after", range(1, APPENDS))
async def test_a_run_that_nobody_can_resume_is_closed_in_one_step(after: int, glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, after, recovers=False)
    before = len(await Process(disk).entries(session_id))
    process = Process(disk, dies_after=1)
    _, model = await start(glados_app, process)

    entries = await process.entries(session_id)
    assert checked(entries)[-1] == "run_end interrupted"
    assert payload(entries[-1])["why"] == "the process that worked on it died"
    assert len({entry.created_at for entry in entries[before:]}) == 1
    assert model.requests == {}
    assert done["change"] <= 1
    await start(glados_app, Process(disk))
    assert await process.entries(session_id) == entries


def payload(entry: Entry) -> dict[str, Any]:
    assert isinstance(entry.payload, dict)
    return entry.payload


async def test_a_run_is_resumed_only_so_often(glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, 1)
    settings = {"model": {"max_resumed": 2}}
    for _ in range(3):
        process = Process(disk, dies_after=1)
        app, _ = await start(glados_app, process, settings=settings)
        await until_done(app, process)

    entries = await Process(disk).entries(session_id)
    assert checked(entries) == ["user Go", "run_resume", "run_resume", "run_end interrupted"]
    assert "MODEL_MAX_RESUMED" in payload(entries[-1])["why"]


class Form(BaseModel):
    """An answer as data."""

    text: str


@pytest.mark.parametrize("options", [{"agent": Agent(name="other")}, {"output": Form}, {"thinking": "low"}])
async def test_only_what_the_log_says_in_full_is_resumed(options: dict[str, Any], glados_app: AppFactory) -> None:
    process = Process(Disk(), 1)
    app, _ = await start(glados_app, process)
    session = await app.create_session()
    await until_dead(app, process, "Go", session.id, **options)

    assert [run.resumable for run in await Process(process.disk).open_runs()] == [False]


async def test_of_two_processes_one_recovers(glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, 2)
    one, other = Process(disk), Process(disk)
    app, model = await start(glados_app, one)
    _, idle = await start(glados_app, other)
    await until_done(app, one)

    assert checked(await one.entries(session_id)).count("run_resume") == 1
    assert (bool(model.requests), bool(idle.requests)) == (True, False)


async def test_a_run_whose_process_seemed_to_live_goes_on_as_soon_as_it_is_seen_dead(
    glados_app: AppFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "LOOK_AGAIN", 0)
    disk, session_id, _ = await crashed(glados_app, 5)
    other, process = Process(disk), Process(disk)
    disk.owners = dict.fromkeys(disk.owners, other)
    app, _ = await start(glados_app, process)
    assert app.permissions.pending() == []
    other.kill()
    await until_done(app, process)

    log = checked(await process.entries(session_id))
    assert (log.count("run_resume"), log[-1], done["change"]) == (1, "run_end end", 1)


async def test_a_prompt_closes_first_what_a_dead_process_left(glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, 5)
    app, _ = await start(glados_app, Process(disk), recovers=False, model=Teller(["-"], ["-"], ["Back."]))
    result = await app.run("Again", session=session_id)

    log = checked(await app.sessions.entries(session_id))
    assert log[5:] == [
        "permission_answer deny",
        "tool c=interrupted",
        "run_end interrupted",
        "user Again",
        "assistant Back.",
        "run_end end",
    ]
    assert (result.text, done["change"]) == ("Back.", 0)


async def test_a_prompt_in_a_session_where_another_process_works_is_refused(glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, 3)
    disk.owners = dict.fromkeys(disk.owners, Process(disk))  # its process lives
    app, _ = await start(glados_app, Process(disk))

    with pytest.raises(SessionBusy, match="Another process works in session"):
        await app.run("Again", session=session_id)
    assert len(await app.sessions.entries(session_id)) == 3


async def test_a_run_that_somebody_took_over_ends_at_once_and_writes_nothing(glados_app: AppFactory) -> None:
    process, thief = Process(Disk()), Process(Disk())

    @tool("toys.steal", read_only=True, open_world=False)
    async def steal() -> str:
        """Let another process take the run over."""
        process.disk.owners = dict.fromkeys(process.disk.owners, thief)
        return "stolen"

    model = Teller([call("toys.steal", "s")])
    app, _ = await start(glados_app, process, plugins=[plugin_of(steal)], model=model)
    session = await app.create_session()
    events = [event async for event in app.stream("Go", session=session.id)]

    assert [type(entry.payload) for entry in await process.entries(session.id)] == [Message, Message]
    assert events[-1].payload()["error"]["code"] == RunLost.code


async def test_agents_of_a_dead_process_are_closed_and_their_calls_made_again(glados_app: AppFactory) -> None:
    @tool("toys.delegate", read_only=True, open_world=False)
    async def delegate(ctx: ToolContext) -> str:
        """Let another agent do it."""
        return (await ctx.run(Agent(name="helper"), "Help")).text

    class Both(Teller):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            helps = request.messages[0].text == "Help"
            async for delta in Teller(["Helped."]).stream(request) if helps else super().stream(request):
                yield delta

    model, process = Both([call("toys.delegate", "d")], ["Done."]), Process(Disk(), 3)
    app, _ = await start(glados_app, process, plugins=[plugin_of(delegate)], model=model)
    session = await app.create_session()
    await until_dead(app, process, "Go", session.id)
    second = Process(process.disk)
    app, _ = await start(glados_app, second, plugins=[plugin_of(delegate)], model=model)
    await until_done(app, second)

    first, repeated = await second.children(session.id)
    assert checked(await second.entries(first.id)) == ["user Help", "run_end interrupted"]
    assert checked(await second.entries(repeated.id))[-1] == "run_end end"
    assert repeated.id == f"{first.id}--2"
    assert checked(await second.entries(session.id))[-2:] == ["assistant Done.", "run_end end"]


async def test_a_run_that_somebody_took_over_does_not_wait_for_its_calls(glados_app: AppFactory) -> None:
    process, thief = Process(Disk()), Process(Disk())
    ended: list[str] = []

    @tool("toys.hang", concurrent=True, open_world=False)
    async def hang() -> None:
        """Never end."""
        process.disk.owners = dict.fromkeys(process.disk.owners, thief)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    @tool("toys.ask", concurrent=True, open_world=False)
    async def ask() -> None:
        """Ask before it is done."""

    options: Any = {"plugins": [plugin_of(hang, ask)], "settings": {"permissions": {"allow": ["toys.hang"]}}}
    model = Teller([call("toys.hang", "h"), call("toys.ask", "a")])
    app, _ = await start(glados_app, process, model=model, **options)
    session = await app.create_session()
    with pytest.raises(RunLost):
        await app.run("Go", session=session.id, on_question="wait")

    assert ended == ["hang"]
    assert len(await process.entries(session.id)) == 2


async def test_what_a_run_has_used_before_it_was_resumed_counts(glados_app: AppFactory) -> None:
    disk, session_id, _ = await crashed(glados_app, 2)
    process = Process(disk)
    app, model = await start(glados_app, process, settings={"model": {"max_turns": 1}})
    await until_done(app, process)

    assert checked(await process.entries(session_id))[-2:] == ["tool a=ok b=ok", "run_end max_turns"]
    assert model.requests == {}


async def test_a_run_that_was_being_aborted_is_not_resumed(glados_app: AppFactory) -> None:
    process = Process(Disk(), 2)  # the prompt, and what had arrived of the answer

    class Endless(Teller):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            yield TextDelta("Well")
            await asyncio.Event().wait()

    app, _ = await start(glados_app, process, model=Endless())
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Go", session=session.id))
        await next_of(events, StreamChunk)
        await app.abort(session.id)
    with pytest.raises(GladosError, match="dead"):
        await running
    second = Process(process.disk)
    app, model = await start(glados_app, second)
    await until_done(app, second)

    assert checked(await second.entries(session.id)) == ["user Go", "assistant Well", "run_resume", "run_end aborted"]
    assert model.requests == {}


async def test_a_session_whose_history_came_from_outside_taints_its_runs(glados_app: AppFactory) -> None:
    store = MemorySessionStore()
    [session] = await store.restore([(Session("imported", None, timestamp(), timestamp(), tainted=True), [])])
    app = await glados_app(model=Teller(["Hello."]), store=store)

    assert (await app.run("Go", session=session.id)).tainted


async def test_what_a_plugin_noted_in_a_call_stands_behind_its_result(glados_app: AppFactory) -> None:
    class Note(SessionEntry):
        entry_type = "toys.note"

        def shown(self) -> str:
            return "noted"

    @tool("toys.write", read_only=True, open_world=False)
    async def write(ctx: ToolContext) -> str:
        """Write a note."""
        await ctx.session.append(Note())
        return "written"

    process, model = Process(Disk(), 3), Teller([call("toys.write", "w")], ["Done."])
    app, _ = await start(glados_app, process, plugins=[plugin_of(write)], model=model)
    session = await app.create_session()
    await until_dead(app, process, "Go", session.id)
    assert (await process.entries(session.id))[-1].kind == "custom"
    second = Process(process.disk)
    app, _ = await start(glados_app, second, plugins=[plugin_of(write)], model=model)
    await until_done(app, second)

    sent = model.requests[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "tool", "user", "user"]
    assert list(sent) == compaction.history(await second.branch(session.id))[:5]


@pytest.mark.parametrize("after", [2, 5])
async def test_a_run_that_is_aborted_while_it_is_taken_up_leaves_a_valid_history(
    after: int, glados_app: AppFactory
) -> None:
    class Slow(Process):
        reached = asyncio.Event()

        async def children(self, session_id: str) -> list[Session]:
            self.reached.set()
            return await asyncio.Event().wait() and []

    disk, session_id, _ = await crashed(glados_app, after)
    process = Slow(disk)
    app, _ = await start(glados_app, process)
    await process.reached.wait()
    assert await app.abort(session_id)

    log = checked(await process.entries(session_id))
    assert log[-1] == "run_end aborted"
    assert log[-2].endswith("=interrupted")


async def test_a_run_whose_log_cannot_be_read_stays_open_until_it_can(glados_app: AppFactory) -> None:
    class Broken(Process):
        reads = 0

        async def branch(self, session_id: str) -> Sequence[Entry]:
            self.reads += 1
            if self.reads == 2:  # the first is to see whether the run is still there
                raise OSError("the disk hangs")
            return await super().branch(session_id)

    disk, session_id, _ = await crashed(glados_app, 4)
    broken = Broken(disk)
    app, _ = await start(glados_app, broken)
    while broken.reads < 2:
        await asyncio.sleep(0)
    broken.kill()
    process = Process(disk)
    app, _ = await start(glados_app, process)
    await until_done(app, process)

    assert checked(await process.entries(session_id))[-1] == "run_end end"
