"""A run whose conversation grows too long for its model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from glados.core import (
    App,
    Compacted,
    MemorySessionStore,
    Message,
    ModelDelta,
    ModelDone,
    ModelError,
    ModelRequest,
    TextDelta,
    Usage,
)
from glados.core.compaction import INSTRUCTIONS
from glados.core.models.errors import ModelContextTooLong
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of
from packages.core.tests.crashes import Disk, Process, until_dead, until_done
from packages.core.tests.test_recovery import Flaky, look, says

LONG = "x" * 2_000


async def talk_in(app: App, session_id: str, *prompts: str) -> None:
    """Several prompts in one session."""
    for prompt in prompts:
        await app.run(prompt, session=session_id)


async def talk(app: App, *prompts: str) -> str:
    """Several prompts in a new session."""
    session = await app.create_session()
    await talk_in(app, session.id, *prompts)
    return session.id


class Chatty:
    """Answers at length, and summarises when it is asked to."""

    name = "chatty"

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        self.requests.append(ModelRequest(request.system, list(request.messages), ()))
        yield TextDelta("SUMMARY" if request.system == INSTRUCTIONS else f"Answer {LONG}")
        yield ModelDone("end", None, self.name)

    async def close(self) -> None:
        pass


async def test_older_turns_are_summarised_before_the_context_is_full(glados_app: AppFactory) -> None:
    model = Chatty()
    app = await glados_app(model=model, settings={"model": {"context_tokens": 4_000, "compact_at": 0.8}})
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        await talk_in(app, session.id, *[f"Prompt {n} {LONG}" for n in range(4)])
        compacted = await next_of(events, Compacted)

    assert compacted.payload()["summary"] == "SUMMARY"
    sent = model.requests[-1].messages
    assert "SUMMARY" in sent[0].text
    assert sent[-1].text == f"Prompt 3 {LONG}"
    entries = await app.sessions.entries(session.id)
    assert [entry.kind for entry in entries].count("compaction") == 1
    assert f"Prompt 0 {LONG}" in [entry.payload.text for entry in entries if isinstance(entry.payload, Message)]


async def test_a_prompt_that_is_refused_as_too_long_is_compacted_once_and_sent_again(glados_app: AppFactory) -> None:
    too_long = ModelContextTooLong("too long")
    answers = [says("One."), says("Two."), [too_long], says("SUMMARY"), says("Three.")]
    model = Flaky(*answers)
    app = await glados_app(model=model)
    session_id = await talk(app, "First", "Second", "Third")

    assert "SUMMARY" in model.requests[-1][0].text
    assert model.requests[-1][-1].text == "Third"
    assert [entry.kind for entry in await app.sessions.entries(session_id)].count("compaction") == 1


async def test_a_prompt_that_is_still_too_long_afterwards_is_an_error(glados_app: AppFactory) -> None:
    too_long = ModelContextTooLong("too long")
    model = Flaky(says("One."), [too_long], says("SUMMARY"), [too_long])
    app = await glados_app(model=model)

    with pytest.raises(ModelError, match="too long"):
        await talk(app, "First", "Second")


async def test_a_call_and_its_result_are_never_split(glados_app: AppFactory) -> None:
    asks = [call("toys.look", call_id=f"c{n}") for n in range(3)]
    model = ScriptedModel(asks, "Seen.", ModelContextTooLong("too long"), "SUMMARY", "Done.")
    app = await glados_app(plugins=[plugin_of(look)], model=model)
    await talk(app, "Look", "And now?")

    sent = model.requests[-1].messages
    calls = [part.id for message in sent for part in message.calls]
    results = [part["call_id"] for message in sent for part in message.to_dict()["parts"] if "call_id" in part]
    assert sorted(calls) == sorted(results)


async def test_a_summary_counts_as_use(glados_app: AppFactory) -> None:
    model = Flaky(says("One."), [ModelContextTooLong("too long")], says("SUMMARY", usage=Usage(5, 5)), says("Two."))
    app = await glados_app(model=model)
    session = await app.create_session()
    await app.run("First", session=session.id)

    assert (await app.run("Second", session=session.id)).usage == Usage(6, 6)


async def test_a_session_that_was_compacted_goes_on_from_its_summary(glados_app: AppFactory) -> None:
    model = Flaky(says("One."), [ModelContextTooLong("too long")], says("SUMMARY"), says("Two."), says("Three."))
    app = await glados_app(model=model)
    await talk(app, "First", "Second", "Third")

    assert "SUMMARY" in model.requests[-1][0].text
    assert [message.text for message in model.requests[-1][-3:]] == ["Second", "Two.", "Third"]


async def test_a_compacted_session_is_the_same_when_it_is_opened_again_or_forked(glados_app: AppFactory) -> None:
    store = MemorySessionStore()
    model = Flaky(says("One."), [ModelContextTooLong("too long")], says("SUMMARY"), says("Two."), says("Three."))
    app = await glados_app(model=model, store=store)
    session_id = await talk(app, "First", "Second")
    forks = [(await store.fork(session_id)).id for _ in range(2)]
    await app.run("Third", session=session_id)
    for fork in forks:
        again = Flaky(says("Three."))
        await talk_in(await glados_app(model=again, store=store), fork, "Third")
        assert again.requests == model.requests[-1:]


async def test_a_run_that_dies_after_its_compaction_goes_on_with_the_same_history(glados_app: AppFactory) -> None:
    sent: list[list[Message]] = []
    for dies in (False, True):
        process = Process(Disk())
        replies = [says("One."), [ModelContextTooLong("too long")], says("SUMMARY"), says("Two.")]
        model = Flaky(*replies)
        app = await glados_app(model=model, store=process, recovers=True)
        session_id = await talk(app, "First")
        process.left = 2 if dies else None  # the prompt and the compaction
        await until_dead(app, process, "Second", session_id)
        if dies:
            assert (await process.entries(session_id))[-1].kind == "compaction"
            model, second = Flaky(says("Two.")), Process(process.disk)
            await until_done(await glados_app(model=model, store=second, recovers=True), second)
        sent.append(model.requests[-1])

    assert sent[0] == sent[1]
