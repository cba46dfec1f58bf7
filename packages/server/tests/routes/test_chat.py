"""A prompt in, the answer out."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from glados.core import ModelError, RunFinished
from glados.core.testing import ScriptedModel
from glados.server import sse
from glados.server.sse import wants_events
from glados.server.wire import ChatReply


async def test_a_prompt_is_answered_as_json(daemon: Any) -> None:
    answer = await daemon.client.post("/api/chat", json={"prompt": '/call demo.echo {"text": "hello"}'})
    reply = ChatReply.model_validate(answer.json(), extra="forbid")
    assert answer.status_code == 200
    assert "hello" in reply.response
    assert (reply.stop, [step["kind"] for step in reply.steps]) == ("end", ["model", "tool", "model"])


async def test_a_session_goes_on(daemon: Any) -> None:
    first = (await daemon.client.post("/api/chat", json={"prompt": "hello"})).json()
    body = {"prompt": "again", "session_id": first["session_id"]}
    second = (await daemon.client.post("/api/chat", json=body)).json()
    assert second["session_id"] == first["session_id"]
    entries = (await daemon.client.get(f"/api/sessions/{first['session_id']}/entries")).json()
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_an_unknown_session_is_told_before_anything_runs(daemon: Any, accept: str) -> None:
    body = {"prompt": "hello", "session_id": "nothing"}
    answer = await daemon.client.post("/api/chat", json=body, headers={"accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")


@pytest.mark.parametrize("prompt", ["", None, 1])
async def test_a_prompt_is_needed(daemon: Any, prompt: Any) -> None:
    assert (await daemon.client.post("/api/chat", json={"prompt": prompt})).status_code == 422


async def test_a_stream_tells_what_happens_in_order_and_ends_with_the_answer(daemon: Any) -> None:
    async with daemon.events({"prompt": '/call demo.echo {"text": "hello"}'}) as events:
        seen = [event async for event in events]
    kinds = [event["event"] for event in seen]
    assert kinds[:3] == ["session:created", "agent:run_start", "message:created"]
    assert kinds[-1] == "agent:run_end"
    assert kinds.index("agent:tool_call_start") < kinds.index("agent:tool_call_end") < len(kinds) - 1
    numbers = [int(event["id"]) for event in seen if "id" in event]
    assert numbers == sorted(set(numbers))
    assert all(event["data"]["type"] == event["event"] for event in seen)
    assert all(event["data"].get("seq") == (int(event["id"]) if "id" in event else None) for event in seen)
    ChatReply.model_validate({key: value for key, value in seen[-1]["data"]["payload"].items() if key != "error"})


async def test_plain_requests_deny_a_question_at_once(daemon: Any) -> None:
    answer = await daemon.client.post("/api/chat", json={"prompt": '/call demo.change {"text": "x"}'})
    steps = answer.json()["steps"]
    assert [step["code"] for step in steps if step["kind"] == "tool"] == ["permission_denied"]


async def test_a_stream_waits_for_the_answer_to_a_question(daemon: Any) -> None:
    async with daemon.events({"prompt": '/call demo.change {"text": "x"}'}) as events:
        seen: list[dict[str, Any]] = []
        async for event in events:
            seen.append(event)
            if event["event"] == "permission:requested":
                question = event["data"]["payload"]["id"]
                answer = await daemon.client.post(f"/api/permissions/{question}", json={"answer": "once"})
                assert answer.json() == {"id": question, "answer": "once"}
    assert seen[-1]["event"] == "agent:run_end"
    assert "changed x" in seen[-1]["data"]["payload"]["response"]


async def test_a_stream_can_deny_questions_too(daemon: Any) -> None:
    async with daemon.events({"prompt": '/call demo.change {"text": "x"}', "on_question": "deny"}) as events:
        kinds = [event["event"] async for event in events]
    assert kinds[-1] == "agent:run_end"


async def test_a_client_that_leaves_does_not_stop_the_run(daemon: Any, gate: Any) -> None:
    with daemon.app.bus.subscribe() as told:
        async with daemon.events({"prompt": "/call demo.wait {}"}) as events:
            session = (await anext(events))["data"]["session_id"]
            await gate.entered.wait()
        gate.opened.set()
        finished = await anext(event async for event in told if isinstance(event, RunFinished))
    assert (finished.session_id, finished.result["stop"]) == (session, "end")
    entries = (await daemon.client.get(f"/api/sessions/{session}/entries")).json()
    assert entries[-1]["kind"] == "run_end"


async def test_a_plain_client_that_leaves_does_not_stop_the_run(daemon: Any, gate: Any) -> None:
    with daemon.app.bus.subscribe() as told:
        headers = dict(daemon.client.headers)
        async with httpx.AsyncClient(base_url=daemon.url, headers=headers, trust_env=False) as leaving:
            asked = asyncio.create_task(leaving.post("/api/chat", json={"prompt": "/call demo.wait {}"}))
            await gate.entered.wait()
            asked.cancel()
            await asyncio.wait({asked})
        gate.opened.set()
        finished = await anext(event async for event in told if isinstance(event, RunFinished))
    assert finished.result["stop"] == "end"


async def test_silence_is_filled_with_comments(daemon: Any, gate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "KEEP_ALIVE_SECONDS", 0.05)
    headers = {"accept": "text/event-stream"}
    body = {"prompt": "/call demo.wait {}"}
    async with daemon.client.stream("POST", "/api/chat", json=body, headers=headers) as response:
        async for line in response.aiter_lines():
            if line == ": keep-alive":
                gate.opened.set()
    assert gate.opened.is_set()


async def test_a_busy_session_queues_or_rejects(daemon: Any, gate: Any) -> None:
    session = (await daemon.client.post("/api/sessions")).json()["id"]
    first = asyncio.create_task(
        daemon.client.post("/api/chat", json={"prompt": "/call demo.wait {}", "session_id": session})
    )
    await gate.entered.wait()
    body = {"prompt": "me too", "session_id": session}
    for accept in ("application/json", "text/event-stream"):
        rejected = await daemon.client.post("/api/chat", json={**body, "on_busy": "reject"}, headers={"accept": accept})
        assert (rejected.status_code, rejected.json()["code"]) == (409, "session_busy")
    queued = asyncio.create_task(daemon.client.post("/api/chat", json=body))
    gate.opened.set()
    assert [(await first).status_code, (await queued).status_code] == [200, 200]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_model_that_fails_is_told(start: Any, accept: str) -> None:
    daemon = await start(model=ScriptedModel(ModelError("The model's service is down: try again later.")))
    answer = await daemon.client.post("/api/chat", json={"prompt": "hello"}, headers={"accept": accept})
    if accept == "application/json":
        assert (answer.status_code, answer.json()["code"]) == (502, "model_failed")
    else:
        assert answer.text.count("event: agent:run_end") == 1
        assert "model_failed" in answer.text.rsplit("event: ", 1)[1]


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream;q=0.9", True),
        ("*/*", False),
        ("", False),
        ("text/event-streams", False),
    ],
)
def test_only_a_client_that_names_it_gets_a_stream(accept: str, wanted: bool) -> None:
    assert wants_events(accept) is wanted
