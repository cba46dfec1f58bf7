from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from glados.core import (
    Agent,
    App,
    Event,
    EventBus,
    GladosError,
    GladosSettings,
    ImagePart,
    InvalidSetting,
    Model,
    ModelDelta,
    ModelDone,
    ModelError,
    ModelProvider,
    ModelRequest,
    PermissionDenied,
    PermissionRequested,
    Plugin,
    PluginError,
    Prepare,
    RequestError,
    RunFinished,
    RunStarted,
    Services,
    SessionBusy,
    SessionCreated,
    SessionDeleted,
    SessionNotFound,
    StreamChunk,
    TextDelta,
    Workspace,
    hookimpl,
    tool,
)
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of


@tool("toys.write")
async def write() -> str:
    """Change something."""
    return "written"


class GatedModel:
    """Answers each request with the prompt, once it is let through; `asked` has what waits at the gate."""

    name = "gated"

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.gate = asyncio.Semaphore(0)
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        prompt = request.messages[-1].text
        self.asked.put_nowait(prompt)
        await self.gate.acquire()
        yield TextDelta(f"Answer to {prompt}")
        yield ModelDone("end", None, self.name)

    async def close(self) -> None:
        self.closed = True


async def ended(events: Any) -> str:
    return (await next_of(events, RunFinished)).payload()["stop"]


async def prompts(app: App, session_id: str) -> list[str]:
    return [entry.to_dict()["payload"].get("role", entry.kind) for entry in await app.sessions.entries(session_id)]


async def test_a_run_gives_its_result_as_a_value_and_as_json(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(write)], model=ScriptedModel(call("toys.write", "w"), "Done."))
    result = await app.run("Write")

    assert result.to_dict() == {
        "session_id": result.session_id,
        "run_id": result.run_id,
        "response": "Done.",
        "steps": [
            {"kind": "model", "name": "scripted", "usage": result.steps[0].to_dict()["usage"]},
            {
                "kind": "tool",
                "name": "toys.write",
                "call_id": "w_1_0",
                "is_error": True,
                "code": "permission_denied",
            },
            {"kind": "model", "name": "scripted", "usage": result.steps[2].to_dict()["usage"]},
        ],
        "usage": {"input_tokens": 2, "output_tokens": 2, "cached_tokens": 0, "reasoning_tokens": 0},
        "cost": None,
        "stop": "end",
    }


async def test_a_session_is_titled_by_its_first_prompt_in_one_line(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("Hi."))
    result = await app.run("Hello\n  there, " + "x" * 200 + " \ud800")

    title = (await app.sessions.get(result.session_id)).title
    assert title is not None
    assert title.startswith("Hello there, xxx")
    assert len(title) == 80


async def test_a_stream_tells_everything_from_the_session_to_the_end_of_the_run(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("Hi."))
    heard = [event async for event in app.stream("Hello")]

    assert [event.type for event in heard] == [
        "session:created",
        "agent:run_start",
        "message:created",
        "agent:stream_chunk",
        "message:created",
        "agent:run_end",
    ]


async def test_a_stream_in_a_session_tells_only_of_its_own_run(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    first = asyncio.create_task(app.run("one", session=session.id))
    await model.asked.get()
    heard: list[Event] = []

    async def listen() -> None:
        heard.extend([event async for event in app.stream("two", session=session.id)])

    second = asyncio.create_task(listen())
    model.gate.release()
    model.gate.release()
    await asyncio.gather(first, second)

    assert isinstance(heard[0], RunStarted)
    assert [event.text for event in heard if isinstance(event, StreamChunk)] == ["Answer to two"]


async def test_a_stream_of_a_run_that_fails_ends_with_the_error(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel(ModelError("Nobody answers.")))
    heard = [event async for event in app.stream("Hello")]

    assert heard[-1].payload()["error"]["code"] == "model_failed"


async def test_who_leaves_a_stream_does_not_stop_the_run(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        stream = app.stream("Hello", session=session.id)
        await anext(stream)
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        model.gate.release()

        assert await ended(events) == "end"


async def test_a_second_prompt_waits_for_the_first(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    runs = [asyncio.create_task(app.run(prompt, session=session.id)) for prompt in ("one", "two", "three")]
    for prompt in ("one", "two", "three"):
        assert await model.asked.get() == prompt
        assert model.asked.empty()
        model.gate.release()

    assert [(await run).text for run in runs] == ["Answer to one", "Answer to two", "Answer to three"]
    assert await prompts(app, session.id) == ["user", "assistant", "run_end"] * 3


async def test_a_second_prompt_that_will_not_wait_is_refused(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    first = asyncio.create_task(app.run("one", session=session.id, on_busy="reject"))
    second = asyncio.create_task(app.run("two", session=session.id, on_busy="reject"))
    with pytest.raises(SessionBusy, match="is working on another prompt"):
        await second
    with pytest.raises(SessionBusy):
        await anext(app.stream("three", session=session.id, on_busy="reject"))
    model.gate.release()
    model.gate.release()

    assert (await first).text == "Answer to one"
    assert (await app.run("four", session=session.id, on_busy="reject")).text == "Answer to four"


async def test_two_sessions_work_at_the_same_time(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    runs = [asyncio.create_task(app.run(prompt)) for prompt in ("one", "two")]

    assert {await model.asked.get(), await model.asked.get()} == {"one", "two"}
    model.gate.release()
    model.gate.release()
    assert [(await run).text for run in runs] == ["Answer to one", "Answer to two"]


async def test_cancelling_the_caller_aborts_the_run(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id))
        await model.asked.get()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert await ended(events) == "aborted"
    assert await prompts(app, session.id) == ["user", "run_end"]


async def test_cancelling_the_caller_of_a_run_that_waits_takes_it_out_of_the_line(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    first, second, third = (asyncio.create_task(app.run(text, session=session.id)) for text in ("1", "2", "3"))
    await model.asked.get()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert model.asked.empty()
    model.gate.release()
    model.gate.release()

    assert [(await first).text, (await third).text] == ["Answer to 1", "Answer to 3"]


async def test_an_abort_lets_the_next_in_line_begin(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    first, second = (asyncio.create_task(app.run(text, session=session.id)) for text in ("1", "2"))
    await model.asked.get()

    assert await app.abort(session.id)
    assert (await first).stop == "aborted"
    assert await model.asked.get() == "2"
    model.gate.release()
    assert (await second).text == "Answer to 2"


async def test_an_abort_reaches_a_run_that_has_not_begun(glados_app: AppFactory) -> None:
    app = await glados_app(model=GatedModel())
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id))
        while not app._lines.tasks(session.id):
            await asyncio.sleep(0)

        assert await app.abort(session.id)
        assert await ended(events) == "aborted"
    assert (await running).stop == "aborted"


async def test_an_abort_where_nothing_runs_says_so(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("Hi."))
    result = await app.run("Hello")

    assert await app.abort(result.session_id) is False


async def test_an_unknown_session_is_told_by_every_way_in(glados_app: AppFactory) -> None:
    app = await glados_app()

    for calling in (
        app.run("Hello", session="gone"),
        anext(app.stream("Hello", session="gone")),
        app.abort("gone"),
        app.delete_session("gone"),
    ):
        with pytest.raises(SessionNotFound, match="no session 'gone'"):
            await calling


async def test_deleting_a_session_ends_what_runs_and_what_waits_in_it(glados_app: AppFactory) -> None:
    model = GatedModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    runs = [asyncio.create_task(app.run(text, session=session.id)) for text in ("1", "2")]
    stream = asyncio.ensure_future(anext(app.stream("3", session=session.id)))
    await model.asked.get()
    with app.bus.subscribe(session.id) as events:
        await app.delete_session(session.id)
        await next_of(events, SessionDeleted)

    assert [(await run).stop for run in runs] == ["aborted", "aborted"]
    assert isinstance(await stream, RunFinished)
    assert model.asked.empty()
    with pytest.raises(SessionNotFound):
        await app.sessions.get(session.id)


async def test_closing_the_app_ends_every_run_and_leaves_nothing(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    model = GatedModel()
    settings = {"glados": {"data_dir": tmp_path}}
    async with App.open(plugins=[], settings=settings, model=model, environ={}) as app:
        session = await app.create_session()
        runs = [asyncio.create_task(app.run(text, session=session.id)) for text in ("1", "2")]
        runs.append(asyncio.create_task(app.run("3")))
        await model.asked.get()

    assert [(await run).stop for run in runs] == ["aborted"] * 3
    assert await prompts(app, session.id) == ["user", "run_end"]
    assert asyncio.all_tasks() == before
    assert model.closed


async def test_a_closed_app_takes_no_more_work(tmp_path: Path) -> None:
    settings = {"glados": {"data_dir": tmp_path}}
    async with App.open(plugins=[], settings=settings, model=ScriptedModel(), environ={}) as app:
        pass

    for calling in (app.run("Hello"), anext(app.stream("Hello")), app.call("toys.write", {})):
        with pytest.raises(RequestError, match="The app is closed"):
            await calling


class SlowPlugin(Plugin):
    """Takes its time to prepare a run."""

    id = "slow"
    reached: asyncio.Event
    go: asyncio.Event

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        if prepare.purpose == "run":
            self.reached.set()
            await self.go.wait()


async def test_an_abort_while_plugins_prepare_ends_the_run_with_nothing_written_down(glados_app: AppFactory) -> None:
    SlowPlugin.reached, SlowPlugin.go = asyncio.Event(), asyncio.Event()
    app = await glados_app(plugins=[SlowPlugin], model=ScriptedModel("Hi."))
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hello", session=session.id))
        await SlowPlugin.reached.wait()

        assert await app.abort(session.id)
        assert await ended(events) == "aborted"
    SlowPlugin.go.set()
    assert ((await running).stop, await prompts(app, session.id)) == ("aborted", [])
    assert (await app.run("Again", session=session.id)).text == "Hi."


async def test_a_run_begins_when_plugins_have_prepared_it(glados_app: AppFactory) -> None:
    SlowPlugin.reached, SlowPlugin.go = asyncio.Event(), asyncio.Event()
    app = await glados_app(plugins=[SlowPlugin], model=ScriptedModel("Hi."))
    running = asyncio.create_task(app.run("Hello"))
    await SlowPlugin.reached.wait()
    SlowPlugin.go.set()

    assert (await running).text == "Hi."


async def test_questions_of_a_run_are_denied_unless_the_caller_says_otherwise(glados_app: AppFactory) -> None:
    replies = [call("toys.write", "w"), "Done."]
    app = await glados_app(plugins=[plugin_of(write)], model=ScriptedModel(*replies, *replies))

    assert (await app.run("Write")).steps[1].code == "permission_denied"
    assert (await app.run("Write", on_question=lambda _: "once")).steps[1].code is None
    with pytest.raises(PermissionDenied):
        await app.call("toys.write", {})


async def test_a_run_whose_questions_wait_goes_on_with_the_answer(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(write)], model=ScriptedModel(call("toys.write", "w"), "Done."))
    heard: list[Event] = []
    async for event in app.stream("Write", on_question="wait"):
        heard.append(event)
        if isinstance(event, PermissionRequested):
            app.permissions.answer(event.question["id"], "once")

    assert heard[-1].payload()["steps"][1]["is_error"] is False


async def test_an_agent_has_only_the_tools_that_it_names(glados_app: AppFactory) -> None:
    @tool("toys.look", read_only=True)
    async def look() -> int:
        """Look."""
        return 1

    model = ScriptedModel(call("toys.write", "w"), "Done.")
    app = await glados_app(plugins=[plugin_of(write, look)], model=model)
    result = await app.run("Write", agent=Agent(tools=("toys.look",)))

    assert [made.id for made in model.requests[0].tools] == ["artifacts.read", "toys.look"]
    assert result.steps[1].code == "tool_not_found"
    assert [made.id for made in await app.tools()] == ["toys.look", "toys.write"]


async def test_sessions_are_told_when_they_begin_and_end(glados_app: AppFactory) -> None:
    app = await glados_app()
    with app.bus.subscribe() as events:
        session = await app.create_session("Cake")
        await app.delete_session(session.id)

        assert (await next_of(events, SessionCreated)).payload() == session.to_dict()
        assert (await next_of(events, SessionDeleted)).session_id == session.id


def plugin_with_resource(log: list[str]) -> type[Plugin]:
    @asynccontextmanager
    async def resource() -> AsyncGenerator[Path]:
        log.append("opened")
        yield Path()
        log.append("closed")

    class Holder(Plugin):
        id = "holder"

        @hookimpl
        async def setup(self, services: Services) -> None:
            services.provide(Path, resource)

        @hookimpl
        async def teardown(self) -> None:
            log.append("teardown")

    return Holder


class BrokenPlugin(Plugin):
    """Fails at its start."""

    id = "broken"
    after = ("holder",)

    @hookimpl
    async def setup(self) -> None:
        raise KeyError("cake")


async def test_an_app_that_fails_to_open_closes_what_was_opened(glados_app: AppFactory) -> None:
    log: list[str] = []
    with pytest.raises(GladosError, match=r"broken: .*KeyError"):
        await glados_app(plugins=[plugin_with_resource(log), BrokenPlugin])

    assert log == ["opened", "teardown", "closed"]


async def test_a_wrong_setting_stops_the_start_before_any_plugin_is_set_up(glados_app: AppFactory) -> None:
    log: list[str] = []
    with pytest.raises(InvalidSetting, match="MODEL_MAX_TURNS"):
        await glados_app(plugins=[plugin_with_resource(log)], environ={"MODEL_MAX_TURNS": "0"})

    assert log == []


class BrokenProvider:
    def model(self, name: str) -> Model | None:
        raise KeyError(name)


async def test_a_model_that_cannot_be_had_closes_what_was_opened(tmp_path: Path) -> None:
    log: list[str] = []
    settings = {"glados": {"data_dir": tmp_path}, "model": {"normal": "cake"}}
    opening = App.open(
        plugins=[plugin_with_resource(log)],
        settings=settings,
        environ={},
        services=lambda services: services.add(ModelProvider, BrokenProvider()),
    )
    with pytest.raises(PluginError, match="BrokenProvider raised KeyError: 'cake'"):
        await opening.__aenter__()

    assert log == ["opened", "teardown", "closed"]


async def test_an_error_in_the_block_closes_everything_and_goes_on(tmp_path: Path) -> None:
    log: list[str] = []
    settings = {"glados": {"data_dir": tmp_path}}
    opening = App.open(plugins=[plugin_with_resource(log)], settings=settings, model=ScriptedModel(), environ={})
    with pytest.raises(ZeroDivisionError):
        async with opening:
            _ = 1 / 0

    assert log == ["opened", "teardown", "closed"]


async def test_services_of_core_can_be_had_and_added_to_before_the_start(glados_app: AppFactory) -> None:
    app = await glados_app(services=lambda services: services.add(Path, Path("/srv")))

    assert app.services.get(EventBus) is app.bus
    assert app.services.get(GladosSettings).data_dir.is_dir()
    assert app.services.all(Path) == [Path("/srv")]


async def test_the_app_says_which_model_answers(glados_app: AppFactory) -> None:
    model: Model = GatedModel()

    assert (await glados_app(model=model)).model_name == "gated"


@pytest.mark.parametrize("prompt", ["", "  \n"])
async def test_an_empty_prompt_is_refused(prompt: str, glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel())

    with pytest.raises(RequestError, match="The prompt is empty"):
        await app.run(prompt)
    assert await app.sessions.list() == []


async def test_a_run_can_think_see_pictures_and_follow_a_trusted_workspace(
    glados_app: AppFactory, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("Answer in rhymes.")
    model = ScriptedModel("Hi.", "Hi.")
    app = await glados_app(model=model, settings={"glados": {"trusted_workspaces": [tmp_path]}})
    picture = ImagePart("image/png", "aGk=")
    await app.run("Look", images=[picture], thinking="high", workspace=app.workspace(tmp_path))
    await app.run("Look", workspace=Workspace(tmp_path))

    assert picture in model.requests[0].messages[0].parts
    assert model.requests[0].thinking == "high"
    assert "Answer in rhymes." in model.requests[0].system
    assert "Answer in rhymes." not in model.requests[1].system
