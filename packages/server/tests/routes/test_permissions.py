"""Questions and answers over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from glados.server.wire import QuestionReply, RuleReply

PROMPT = {"prompt": '/call demo.change {"text": "x"}'}


@asynccontextmanager
async def asked(daemon: Any) -> AsyncGenerator[tuple[str, AsyncIterator[Any]]]:
    """A run that waits for the answer to a question."""
    async with daemon.events(PROMPT) as events:
        async for event in events:
            if event["event"] == "permission:requested":
                yield event["data"]["payload"]["id"], events
                return


async def test_a_waiting_question_is_listed_until_it_is_answered(daemon: Any) -> None:
    async with asked(daemon) as (question_id, events):
        [found] = (await daemon.client.get("/api/permissions")).json()
        question = QuestionReply.model_validate(found, extra="forbid")
        assert (question.id, question.tool_id, question.input) == (question_id, "demo.change", {"text": "x"})
        assert question.why
        await daemon.client.post(f"/api/permissions/{question_id}", json={"answer": "deny"})
        assert (await daemon.client.get("/api/permissions")).json() == []
        assert [event["event"] async for event in events][-1] == "agent:run_end"


async def test_only_the_first_answer_counts(daemon: Any) -> None:
    async with asked(daemon) as (question_id, _):
        path = f"/api/permissions/{question_id}"
        assert (await daemon.client.post(path, json={"answer": "once"})).status_code == 200
        late = await daemon.client.post(path, json={"answer": "deny"})
        assert (late.status_code, late.json()["code"]) == (409, "question_answered")


async def test_an_answer_for_the_session_is_not_asked_for_again(daemon: Any) -> None:
    async with asked(daemon) as (question_id, events):
        await daemon.client.post(f"/api/permissions/{question_id}", json={"answer": "session"})
        session = [event async for event in events][-1]["data"]["session_id"]
    async with daemon.events({**PROMPT, "session_id": session}) as events:
        assert "permission:requested" not in [event["event"] async for event in events]


async def test_an_answer_for_good_is_not_asked_for_in_another_session(daemon: Any) -> None:
    async with asked(daemon) as (question_id, events):
        answer = await daemon.client.post(f"/api/permissions/{question_id}", json={"answer": "always"})
        assert answer.json() == {"id": question_id, "answer": "always"}
        assert [event["event"] async for event in events][-1] == "agent:run_end"
    async with daemon.events(PROMPT) as events:
        assert "permission:requested" not in [event["event"] async for event in events]


async def test_an_unknown_question_is_not_found(daemon: Any) -> None:
    answer = await daemon.client.post("/api/permissions/nothing", json={"answer": "once"})
    assert (answer.status_code, answer.json()["code"]) == (404, "question_not_found")


@pytest.mark.parametrize("body", [{"answer": "yes"}, {}, {"answer": "once", "for": "ever"}])
async def test_an_answer_is_one_of_four(daemon: Any, body: dict[str, Any]) -> None:
    answer = await daemon.client.post("/api/permissions/nothing", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_an_answer_for_good_makes_a_rule_that_can_be_listed_and_taken_back(daemon: Any) -> None:
    async with asked(daemon) as (question_id, events):
        await daemon.client.post(f"/api/permissions/{question_id}", json={"answer": "always"})
        assert [event["event"] async for event in events][-1] == "agent:run_end"
    [found] = (await daemon.client.get("/api/permissions/rules")).json()
    rule = RuleReply.model_validate(found, extra="forbid")
    assert (rule.effect, rule.rule, rule.principal) == ("allow", "demo.change", "local")

    path = f"/api/permissions/rules/{rule.id}"
    assert (await daemon.client.delete(path)).status_code == 204
    assert (await daemon.client.get("/api/permissions/rules")).json() == []
    gone = await daemon.client.delete(path)
    assert (gone.status_code, gone.json()["code"]) == (404, "rule_not_found")
