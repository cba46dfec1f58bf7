"""A run whose model fails, stops too early, or has to be asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from glados.core import (
    Agent,
    App,
    Limits,
    Message,
    ModelChanged,
    ModelDelta,
    ModelDone,
    ModelError,
    ModelProvider,
    ModelRequest,
    ModelRetried,
    Plugin,
    RequestError,
    Services,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    ToolCallPart,
    ToolContext,
    Usage,
    hookimpl,
    tool,
)
from glados.core.compaction import INSTRUCTIONS
from glados.core.errors import SessionIdle
from glados.core.models.errors import ModelContextTooLong, ModelRateLimited, ModelStreamCut, ModelUnavailable
from glados.core.recovery import Patience
from glados.core.session_memory import MemorySessionStore
from glados.core.sessions import Draft, Entry
from glados.core.structured import InvalidOutput
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

ONE = Usage(1, 1)
QUICK = {"model": {"first_pause": 0.0}}


class Flaky:
    """Plays one list of deltas for each call; an exception in it is raised."""

    def __init__(self, *answers: list[Any], name: str = "flaky") -> None:
        self.name = name
        self.answers = list(answers)
        self.requests: list[list[Message]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        self.requests.append(list(request.messages))
        for item in self.answers.pop(0):
            if isinstance(item, Exception):
                raise item
            yield item

    async def close(self) -> None:
        pass


def says(text: str, stop: Any = "end", usage: Usage | None = ONE) -> list[Any]:
    return [TextDelta(text), ModelDone(stop, usage, "gpt-5")]


@tool("toys.look", read_only=True, concurrent=True, open_world=False)
async def look() -> str:
    """Look."""
    return "seen"


async def last_messages(app: App, session_id: str) -> list[str]:
    entries = await app.sessions.entries(session_id)
    return [f"{e.payload.role} {e.payload.text}" for e in entries if isinstance(e.payload, Message)]


@pytest.mark.parametrize(
    "error", [ModelUnavailable("down"), ModelStreamCut("cut"), ModelRateLimited("slow", retry_after=0)]
)
async def test_a_passing_failure_is_tried_again_and_told(error: ModelError, glados_app: AppFactory) -> None:
    app = await glados_app(model=Flaky([TextDelta("Hal"), error], [error], says("Hello.")), settings=QUICK)
    events = [event async for event in app.stream("Hi")]

    assert [event.error for event in events if isinstance(event, ModelRetried)] == [error, error]
    assert events[-1].payload()["response"] == "Hello."
    assert await last_messages(app, events[-1].session_id or "") == ["user Hi", "assistant Hello."]


async def test_a_failure_that_stays_is_raised_after_all_tries(glados_app: AppFactory) -> None:
    model = Flaky(*[[ModelUnavailable("down")] for _ in range(4)])
    app = await glados_app(model=model, settings=QUICK)

    with pytest.raises(ModelUnavailable):
        await app.run("Hi")
    assert model.answers == []


async def test_a_failure_that_no_try_can_mend_is_raised_at_once(glados_app: AppFactory) -> None:
    model = Flaky([ModelError("wrong key")], says("never"))
    app = await glados_app(model=model, settings=QUICK)

    with pytest.raises(ModelError, match="wrong key"):
        await app.run("Hi")
    assert len(model.answers) == 1


async def test_the_fallback_model_goes_on_with_a_note_in_the_history(glados_app: AppFactory) -> None:
    spare = Flaky(says("Hello from the spare."), name="spare")

    class Provider:
        def model(self, name: str) -> Any:
            return spare if name == "spare" else None

    class Spares(Plugin):
        id = "spares"

        @hookimpl
        async def setup(self, services: Services) -> None:
            services.add(ModelProvider, Provider())

    model = Flaky(*[[ModelUnavailable("down")] for _ in range(2)])
    settings = {"model": {"first_pause": 0.0, "tries": 2, "fallback": "spare"}}
    app = await glados_app(plugins=[Spares], model=model, settings=settings)
    events = [event async for event in app.stream("Hi")]

    change = {"from": "flaky", "to": "spare", "why": "down"}
    assert [event.payload() for event in events if isinstance(event, ModelChanged)] == [change]
    assert events[-1].payload()["response"] == "Hello from the spare."
    entries = await app.sessions.entries(events[-1].session_id or "")
    assert [entry.payload for entry in entries if entry.kind == "model_change"] == [change]


async def test_a_stream_cut_after_a_call_has_begun_is_not_asked_for_again(glados_app: AppFactory) -> None:
    begun = [TextDelta("Let me look."), ToolCallDelta(ToolCallPart("c", "toys.look", "{}")), ModelStreamCut("cut")]
    model = Flaky(begun, says("I saw it."))
    app = await glados_app(plugins=[plugin_of(look)], model=model, settings=QUICK)
    result = await app.run("Look")

    assert result.text == "I saw it."
    roles = [message.role for message in model.requests[1]]
    assert roles == ["user", "assistant", "tool"]


async def test_an_answer_that_was_cut_short_is_continued_three_times(glados_app: AppFactory) -> None:
    model = Flaky(says("One ", "length"), says("two ", "length"), says("three."))
    app = await glados_app(model=model)
    assert (await app.run("Count")).text == "One two three."

    app = await glados_app(model=Flaky(*[says(f"{n} ", "length") for n in range(4)]))
    result = await app.run("Count")
    assert (result.text, result.stop) == ("0 1 2 3 ", "length")


async def test_an_empty_answer_is_asked_for_again(glados_app: AppFactory) -> None:
    app = await glados_app(model=Flaky([ModelDone("end", None, "m")], says("Hello.")), settings=QUICK)

    assert (await app.run("Hi")).text == "Hello."


def test_waiting_grows_with_jitter_and_honours_what_the_service_wants() -> None:
    patience = Patience(tries=10, first_pause=1.0)
    pauses = [patience.next(ModelUnavailable("down")) for _ in range(3)]
    assert [0.5 * 2**n <= pause.delay <= 2**n for n, pause in enumerate(pauses) if pause] == [True] * 3

    wanted = Patience().next(ModelRateLimited("slow", retry_after=7.5))
    assert wanted is not None
    assert wanted.delay == 7.5
    assert Patience().next(ModelRateLimited("slow", retry_after=99_999)) is None


@pytest.mark.parametrize(
    ("limits", "stop"),
    [
        (Limits(turns=1), "max_turns"),
        (Limits(input_tokens=5), "max_input_tokens"),
        (Limits(output_tokens=5), "max_output_tokens"),
        (Limits(cost=0.000001), "max_cost"),
        (Limits(seconds=0.0), "max_seconds"),
    ],
)
async def test_a_run_stops_at_the_limit_it_reaches_first(limits: Limits, stop: str, glados_app: AppFactory) -> None:
    asks = [TextDelta("Looking."), ToolCallDelta(ToolCallPart("c", "toys.look", "{}"))]
    answers = [[*asks, ModelDone("tool_calls", Usage(10, 10), "gpt-5")] for _ in range(2)]
    app = await glados_app(plugins=[plugin_of(look)], model=Flaky(*answers))
    result = await app.run("Look", agent=Agent(limits=limits))

    assert result.stop == stop
    assert result.text == ("" if stop == "max_seconds" else "Looking.")


async def test_a_cost_that_is_not_known_is_never_told_as_nothing(glados_app: AppFactory) -> None:
    app = await glados_app(model=Flaky(says("Hi."), [TextDelta("Hi."), ModelDone("end", Usage(1, 1), "nobody-knows")]))

    assert (await app.run("Hi")).cost == pytest.approx(11.25e-6)
    assert (await app.run("Hi")).cost is None


async def test_steering_joins_the_running_turn_and_a_follow_up_comes_after_it(glados_app: AppFactory) -> None:
    @tool("toys.steer", read_only=True, open_world=False)
    async def steer(ctx: ToolContext) -> str:
        """Steer."""
        app.follow_up(ctx.session_id or "", "And then?")
        app.steer(ctx.session_id or "", "Be quick!")
        return "steered"

    model = ScriptedModel(call("toys.steer"), "Done.", "Nothing more.")
    app = await glados_app(plugins=[plugin_of(steer)], model=model)
    result = await app.run("Go")

    assert result.text == "Nothing more."
    assert await last_messages(app, result.session_id) == [
        "user Go",
        "assistant ",
        "tool ",
        "user Be quick!",
        "assistant Done.",
        "user And then?",
        "assistant Nothing more.",
    ]


class Cake(BaseModel):
    layers: int


async def test_structured_output_is_asked_for_again_until_it_fits(glados_app: AppFactory) -> None:
    model = ScriptedModel("Three layers.", '{"layers": "many"}', '```json\n{"layers": 3}\n```')
    app = await glados_app(model=model)
    result = await app.run("Bake", output=Cake)

    assert result.output == Cake(layers=3)
    assert result.to_dict()["output"] == {"layers": 3}
    assert '"layers"' in model.requests[0].system
    assert "layers: Input should be a valid integer" in model.requests[2].messages[-1].text


async def test_structured_output_is_given_up_after_five_more_tries(glados_app: AppFactory) -> None:
    model = ScriptedModel(*["no" for _ in range(7)])
    app = await glados_app(model=model)

    with pytest.raises(InvalidOutput):
        await app.run("Bake", output=Cake)
    assert len(model.requests) == 6


async def test_an_abort_in_the_pause_before_another_try_leaves_a_valid_history(glados_app: AppFactory) -> None:
    model = Flaky([TextDelta("Hal"), ModelUnavailable("down")], says("Back."))
    app = await glados_app(model=model, settings={"model": {"first_pause": 60}})
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hi", session=session.id))
        await next_of(events, ModelRetried)
        await app.abort(session.id)

    assert (await running).stop == "aborted"
    assert await last_messages(app, session.id) == ["user Hi"]
    assert (await app.run("Again", session=session.id)).text == "Back."


async def test_an_abort_while_a_summary_is_made_leaves_a_valid_history(glados_app: AppFactory) -> None:
    asked = asyncio.Event()

    class Slow(Flaky):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            if request.system == INSTRUCTIONS:
                asked.set()
                await asyncio.Event().wait()
            async for delta in super().stream(request):
                yield delta

    model = Slow(says("One."), [ModelContextTooLong("too long")], says("Back."))
    app = await glados_app(model=model)
    session = await app.create_session()
    await app.run("First", session=session.id)
    running = asyncio.create_task(app.run("Second", session=session.id))
    await asked.wait()
    await app.abort(session.id)

    assert (await running).stop == "aborted"
    assert (await app.run("Third", session=session.id)).text == "Back."


async def test_an_answer_to_a_follow_up_is_not_the_rest_of_one_that_was_cut_short(glados_app: AppFactory) -> None:
    class Curious(Flaky):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            if len(self.requests) == 1:
                app.follow_up(session.id, "And then?")
            async for delta in super().stream(request):
                yield delta

    app = await glados_app(model=Curious(says("One, ", "length"), says("two."), says("Nothing.")))
    session = await app.create_session()

    assert (await app.run("Count", session=session.id)).text == "Nothing."


async def test_a_run_that_has_stopped_takes_no_more_steering(glados_app: AppFactory) -> None:
    class SlowEnd(MemorySessionStore):
        async def append(self, session_id: str, drafts: Sequence[Draft], **options: Any) -> Sequence[Entry]:
            if drafts[0].kind == "run_end":
                for say in (app.steer, app.follow_up):
                    with pytest.raises(SessionIdle):
                        say(session_id, "Wait!")
                    refused.append(say)
            return await super().append(session_id, drafts, **options)

    refused: list[object] = []
    app = await glados_app(model=ScriptedModel("Done."), store=SlowEnd())
    await app.run("Go")

    assert len(refused) == 2


async def test_a_run_can_be_steered_whoever_leaves_the_line(glados_app: AppFactory) -> None:
    asked, hold = asyncio.Event(), asyncio.Event()

    class Holds(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            if len(self.requests) == 1:
                asked.set()
                await hold.wait()
            async for delta in super().stream(request):
                yield delta

    model = Holds("One.", "Two.", "Steered.")
    app = await glados_app(model=model)
    session = await app.create_session()
    runs = [asyncio.create_task(app.run(str(n), session=session.id)) for n in range(3)]
    await asked.wait()
    runs[2].cancel()
    await asyncio.wait([runs[2]])
    app.steer(session.id, "Hear me")
    hold.set()

    assert [result.text for result in await asyncio.gather(*runs[:2])] == ["One.", "Steered."]


async def test_a_pause_that_is_longer_than_the_time_left_is_not_waited_for(glados_app: AppFactory) -> None:
    app = await glados_app(model=Flaky([ModelRateLimited("slow", retry_after=100)]))
    result = await app.run("Hi", agent=Agent(limits=Limits(seconds=50)))

    assert result.stop == "max_seconds"


LONG = {"model": {"context_tokens": 4_000, "first_pause": 0.0}}


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3)], ids=["raises", "exits"])
async def test_a_summary_that_breaks_costs_nothing_but_itself(error: BaseException, glados_app: AppFactory) -> None:
    class Breaks(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            if request.system == INSTRUCTIONS:
                raise error
            async for delta in super().stream(request):
                yield delta

    app = await glados_app(model=Breaks("One.", "Two."), settings=LONG)
    result = await app.run("Hi")

    assert (await app.run("x" * 20_000, session=result.session_id)).text == "Two."


async def test_a_summary_after_a_refusal_has_its_tries_too(glados_app: AppFactory) -> None:
    too_long = [ModelContextTooLong("too long")]
    busy: list[Any] = [ModelRateLimited("slow", retry_after=0)]
    model = Flaky(says("One."), too_long, busy, too_long, says("A summary."), says("Two."))
    app = await glados_app(model=model, settings=QUICK)
    result = await app.run("Hi")

    assert (await app.run("Go on", session=result.session_id)).text == "Two."


async def test_a_prompt_that_fills_the_context_by_itself_is_not_summarised_every_turn(glados_app: AppFactory) -> None:
    model = ScriptedModel(*[call("toys.look") for _ in range(5)], "Done.")
    app = await glados_app(plugins=[plugin_of(look)], model=model, settings=LONG)
    result = await app.run("Go", agent=Agent(instructions="x" * 14_000))

    assert result.text == "Done."
    assert not [request for request in model.requests if request.system == INSTRUCTIONS]


async def test_an_output_that_has_no_schema_is_refused(glados_app: AppFactory) -> None:
    class Odd(BaseModel):
        made: Callable[[], int]

    app = await glados_app(model=ScriptedModel())

    with pytest.raises(RequestError, match="Odd has no JSON schema"):
        await app.run("Bake", output=Odd)


async def test_the_cost_of_an_answer_that_was_aborted_is_not_known(glados_app: AppFactory) -> None:
    class Endless(Flaky):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            yield TextDelta("Half")
            await asyncio.Event().wait()

    app = await glados_app(model=Endless())
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        running = asyncio.create_task(app.run("Hi", session=session.id))
        await next_of(events, StreamChunk)
        await app.abort(session.id)

    assert (await running).cost is None


async def test_what_a_cut_answer_cost_is_not_known(glados_app: AppFactory) -> None:
    model = Flaky([TextDelta("Hal"), ModelStreamCut("cut")], says("Hello."))
    app = await glados_app(model=model, settings=QUICK)

    assert (await app.run("Hi")).cost is None
