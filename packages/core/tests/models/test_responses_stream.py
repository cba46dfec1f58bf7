"""Streams of the responses API as services write them."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import pytest

from glados.core.messages import ThinkingPart, ToolCallPart, Usage
from glados.core.model import ModelDelta, ModelDone, TextDelta, ThinkingDelta, ThinkingDone, ToolCallDelta
from tests.asking import calls_of, failure, prompt, text_of, thoughts_of, told
from tests.model_server import Call, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from conftest import Serve


@pytest.fixture
def api() -> str:
    return "responses"


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def completed(*output: dict[str, Any]) -> dict[str, Any]:
    return event("completed", response={"object": "response", "status": "completed", "output": output})


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}]}


async def test_a_call_is_told_as_soon_as_it_is_complete(serve: Serve) -> None:
    calls = [Call("dice__roll", {}, id="a"), Call("dice__toss", {}, id="b")]
    server, model = await serve([Reply(calls=calls, split="whole", fault="hang", after=4)])
    async with aclosing(cast("AsyncGenerator[ModelDelta]", model.stream(prompt()))) as stream:
        assert await anext(stream) == ToolCallDelta(ToolCallPart("a", "dice.roll", "{}"))
        assert server.hanging.is_set()


async def test_thoughts_are_kept_as_the_service_wants_them_back(serve: Serve) -> None:
    server, model = await serve([Reply(thinking="Hm.", text="Yes.", usage=None)])
    kept = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
    data = {"service": f"responses {server.url}", "item": {**kept, "encrypted_content": "encrypted: Hm."}}

    assert await told(model) == [
        ThinkingDelta("Hm."),
        ThinkingDone(ThinkingPart("Hm.", data)),
        TextDelta("Yes."),
        ModelDone("end", None, "scripted"),
    ]


async def test_thoughts_in_several_parts_are_told_apart(serve: Serve) -> None:
    summary = [{"type": "summary_text", "text": text} for text in "ab"]
    item = {"type": "reasoning", "id": "r", "summary": summary, "encrypted_content": None}
    events = [
        *(
            step
            for index, text in enumerate("ab")
            for step in (
                event("reasoning_summary_part.added", output_index=0, summary_index=index),
                event("reasoning_summary_text.delta", output_index=0, summary_index=index, delta=text),
            )
        ),
        event("output_item.done", output_index=0, item=item),
        completed(item),
    ]
    _, model = await serve([Reply(events=events)])
    deltas = await told(model)

    assert "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta)) == "a\n\nb"
    assert thoughts_of(deltas) == [ThinkingPart("a\n\nb", None)]


async def test_thoughts_in_the_open_go_back_whole(serve: Serve) -> None:
    item = {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    events = [event("reasoning_text.delta", output_index=0, delta="Hm."), completed({**item, "status": "completed"})]
    server, model = await serve([Reply(events=events)])

    assert thoughts_of(await told(model)) == [
        ThinkingPart("Hm.", {"service": f"responses {server.url}", "item": item}),
    ]


async def test_what_only_the_end_says_is_told(serve: Serve) -> None:
    call = {"type": "function_call", "id": "f", "call_id": "x", "name": "dice__roll", "arguments": '{"count": 2}'}
    _, model = await serve([Reply(events=[completed(message("Hello"), call)])])
    deltas = await told(model)

    assert text_of(deltas) == "Hello"
    assert calls_of(deltas) == [("dice.roll", '{"count": 2}')]


@pytest.mark.parametrize("index", [{"output_index": 0}, {}])
async def test_what_the_end_repeats_is_not_told_again(serve: Serve, index: dict[str, int]) -> None:
    events = [event("output_text.delta", delta="Hello", **index), completed(message("Hello"))]
    _, model = await serve([Reply(events=events)])

    assert text_of(await told(model)) == "Hello"


async def test_a_refusal_is_text(serve: Serve) -> None:
    _, model = await serve([Reply(events=[event("refusal.delta", output_index=0, delta="No."), completed()])])

    assert await told(model) == [TextDelta("No."), ModelDone("end", None, "scripted")]


async def test_half_an_emoji_does_not_break_the_answer(serve: Serve) -> None:
    half = '{"type":"response.output_text.delta","output_index":0,"delta":"a\\ud83d"}'
    _, model = await serve([Reply(events=[half, completed()])])

    assert text_of(await told(model)) == "a?"


async def test_unknown_events_are_passed_over(serve: Serve) -> None:
    events = [{"type": "keepalive"}, event("queued"), {}, event("output_item.added", item={"type": "web_search_call"})]
    _, model = await serve([Reply(events=[*events, completed()])])

    assert await told(model) == [ModelDone("end", None, "scripted")]


@pytest.mark.parametrize(
    ("finish", "stop"), [("length", "length"), ("content_filter", "content_filter"), ("stop", "tool_calls")]
)
async def test_a_call_that_is_not_whole_counts_only_in_a_whole_answer(serve: Serve, finish: str, stop: str) -> None:
    calls = [Call("dice__roll", {}), Call("dice__roll", '{"cou')]
    _, model = await serve([Reply(calls=calls, finish=finish)])
    deltas = await told(model)

    assert len(calls_of(deltas)) == (2 if finish == "stop" else 1)
    assert deltas[-1] == ModelDone(stop, Usage(10, 5, 4, 2), "scripted")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (Reply(text="Hi", finish="failed"), "model_unavailable", True),
        (Reply(finish="failed", code="rate_limit_exceeded"), "model_rate_limited", True),
        (Reply(finish="failed", code="context_length_exceeded"), "model_context_too_long", False),
        (Reply(finish="failed", code="invalid_prompt"), "model_failed", False),
        (Reply(events=[event("failed", response={"error": None})]), "model_unavailable", True),
        (Reply(events=[{"type": "error", "code": "server_error", "message": "no"}]), "model_unavailable", True),
        (Reply(events=[{"type": "error", "error": {"type": "rate_limit_error"}}]), "model_rate_limited", True),
        (Reply(events=[event("output_item.done", item=None)]), "model_bad_response", False),
        (Reply(events=[event("created", response={})]), "model_stream_cut", True),
    ],
)
async def test_a_failure_in_the_stream_has_the_code_of_its_cause(
    serve: Serve, reply: Reply, code: str, retryable: bool
) -> None:
    _, model = await serve([reply])
    error = await failure(model)

    assert (error.code, error.retryable) == (code, retryable)
