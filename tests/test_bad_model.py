"""Runs against a model server that misbehaves, on real sockets: each ends in a recovery or in a clear error."""

from __future__ import annotations

import pytest

from glados.core import App, GladosError, Message, ToolCallPart, ToolResultPart, tool
from glados.core.testing import AppFactory, plugin_of
from tests.model_server import Call, ModelServer, Reply

LOOK = Call("toys.look", {"at": "cake"}, id="c1")
DONE = Reply(text="Done.")


@tool("toys.look", read_only=True, concurrent=True, open_world=False)
async def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


async def open_app(glados_app: AppFactory, server: ModelServer, api: str) -> App:
    settings = {"model": {"first_pause": 0.01, "api": api}, "openai": {"base_url": server.url}}
    return await glados_app(plugins=[plugin_of(look)], settings=settings, model="configured")


async def check_history(app: App, session_id: str) -> list[ToolResultPart]:
    """Every tool call has exactly one result, and every result a call."""
    entries = await app.sessions.entries(session_id)
    messages = [entry.payload for entry in entries if isinstance(entry.payload, Message)]
    calls = [part.id for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    results = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert sorted(calls) == sorted(part.call_id for part in results)
    assert len(set(calls)) == len(calls)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    return results


RECOVERED: dict[str, list[Reply]] = {
    "429 with Retry-After": [Reply(status=429, headers={"Retry-After": "0"}), DONE],
    "500 twice": [Reply(status=500), Reply(status=500), DONE],
    "cut before the first byte": [Reply(text="Lost.", fault="cut", after=0), DONE],
    "cut in the middle": [Reply(text="Lost for ever.", chunks=4, fault="cut", after=2), DONE],
    "an empty answer": [Reply(text=""), DONE],
    "usage missing": [Reply(text="Done.", usage=None)],
    "a call in two halves": [Reply(calls=[LOOK], split="halves"), DONE],
    "calls all at once": [Reply(calls=[LOOK, Call("toys.look", {"at": "pie"}, id="c2")], split="together"), DONE],
    "duplicated ids": [Reply(calls=[LOOK, Call("toys.look", {"at": "pie"}, id="c1")]), DONE],
    "ids that come again": [Reply(calls=[LOOK]), Reply(calls=[LOOK]), DONE],
    "a missing id": [Reply(calls=[Call("toys.look", {"at": "pie"}, id="")]), DONE],
    "a wrong tool name": [Reply(calls=[Call("toys.lock", {"at": "pie"})]), DONE],
    "arguments that are no JSON": [Reply(calls=[Call("toys.look", '{"at": ')]), DONE],
    "arguments that do not fit": [Reply(calls=[Call("toys.look", {"at": 3, "more": 1})]), DONE],
    "no arguments": [Reply(calls=[Call("toys.look", "")]), DONE],
    "an answer cut by the output limit": [Reply(text="Do", finish="length"), Reply(text="ne.")],
    "a cut after a call was complete": [Reply(calls=[LOOK, LOOK], split="whole", fault="cut", after=3), DONE],
}


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("replies", RECOVERED.values(), ids=RECOVERED)
async def test_the_run_recovers(replies: list[Reply], api: str, glados_app: AppFactory) -> None:
    async with ModelServer(replies) as server:
        app = await open_app(glados_app, server, api)
        result = await app.run("Look at the cake")

        assert result.text == "Done."
        assert result.stop == "end"
        for part in await check_history(app, result.session_id):
            assert part.is_error == (part.code in ("tool_not_found", "invalid_input"))


FATAL: dict[str, tuple[list[Reply], str]] = {
    "a key that is refused": ([Reply(status=401)], "model_auth_failed"),
    "a model that is not there": ([Reply(status=404)], "model_not_found"),
    "a request that is refused": ([Reply(status=400)], "model_failed"),
    "500 for ever": ([Reply(status=500) for _ in range(4)], "model_unavailable"),
    "cut for ever": ([Reply(text="Lost.", fault="cut") for _ in range(4)], "model_stream_cut"),
    "broken JSON": ([Reply(text="Lost.", fault="malformed") for _ in range(4)], "model_bad_response"),
    "Retry-After next week": ([Reply(status=429, headers={"Retry-After": "604800"})], "model_rate_limited"),
    "silence for ever": ([Reply(text="") for _ in range(4)], "model_empty_answer"),
}


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("replies", "code"), FATAL.values(), ids=FATAL)
async def test_the_run_ends_in_a_clear_error_and_the_session_goes_on(
    replies: list[Reply], code: str, api: str, glados_app: AppFactory
) -> None:
    async with ModelServer([*replies]) as server:
        app = await open_app(glados_app, server, api)
        session = await app.create_session()
        with pytest.raises(GladosError) as caught:
            await app.run("Look", session=session.id)
        assert caught.value.code == code
        await check_history(app, session.id)

        server.script.replies[:] = [DONE]
        assert (await app.run("Again", session=session.id)).text == "Done."
