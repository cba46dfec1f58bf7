"""Streams of chat completions as services really write them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import pytest

from glados.core.messages import ThinkingPart, ToolCallPart, Usage
from glados.core.model import ModelDelta, ModelDone, TextDelta, ThinkingDelta, ThinkingDone, ToolCallDelta
from glados.core.models.connection import Connection
from glados.core.models.openai import OpenAIModel
from tests.asking import failure, prompt, text_of, thoughts_of, told
from tests.model_server import Call, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from conftest import Serve

HI = '{"model":"m","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
HI_IN_TWO_LINES = HI.replace(',"choices"', ',\ndata: "choices"')


@pytest.fixture
def api() -> str:
    return "chat"


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize(
    "body",
    [
        f"data: {HI}\n\ndata: [DONE]\n\n",
        f"data:{HI}\n\ndata:[DONE]\n\n",
        f": waiting\r\n\r\nevent: chunk\r\nid: 1\r\ndata: {HI}\r\n\r\ndata: [DONE]\r\n\r\n",
        f"data: {HI_IN_TWO_LINES}\n\n",
        f"data: {HI}\n",
        f"data: {HI}",
        f"data: {HI}\n\ndata: [DONE]\n\ndata: after the end\n\n",
    ],
)
async def test_every_way_to_write_events_is_read(body: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("m", Connection(base_url=f"http://127.0.0.1:{port}"))
        deltas = await told(model)
        await model.close()

    assert deltas == [TextDelta("Hi"), ModelDone("end", None, "m")]


async def test_half_an_emoji_does_not_break_the_answer(serve: Serve) -> None:
    half = '{"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'
    _, model = await serve([Reply(events=[half])])

    assert text_of(await told(model)) == "a?"


async def test_a_call_is_told_as_soon_as_the_next_one_begins(serve: Serve) -> None:
    calls = [Call("dice__roll", {}, id="a"), Call("dice__toss", {}, id="b")]
    server, model = await serve([Reply(calls=calls, split="whole", fault="hang", after=3)])
    async with aclosing(cast("AsyncGenerator[ModelDelta]", model.stream(prompt()))) as stream:
        assert await anext(stream) == ToolCallDelta(ToolCallPart("a", "dice.roll", "{}"))
        assert server.hanging.is_set()


async def test_calls_with_the_finish_reason_stop_are_still_calls(serve: Serve) -> None:
    _, model = await serve([Reply(calls=[Call("dice__roll")], finish="stop")])

    assert (await told(model))[-1] == ModelDone("tool_calls", Usage(10, 5, 4, 2), "scripted")


async def test_an_unknown_reason_to_stop_is_an_end(serve: Serve) -> None:
    _, model = await serve([Reply(text="Hi", finish="eos")])

    assert (await told(model))[-1] == ModelDone("end", Usage(10, 5, 4, 2), "scripted")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_a_thought_is_complete_when_something_else_begins(serve: Serve, field: str) -> None:
    chunks = [chunk({field: "a"}), chunk({field: "b"}), chunk({"content": "c"}), chunk({field: "d"}, "stop")]
    server, model = await serve([Reply(events=chunks, delay=0.01)])
    deltas = await told(model)
    data = {"service": f"chat {server.url}", "field": field}

    assert deltas[:-1] == [
        ThinkingDelta("a"),
        ThinkingDelta("b"),
        ThinkingDone(ThinkingPart("ab", data)),
        TextDelta("c"),
        ThinkingDelta("d"),
        ThinkingDone(ThinkingPart("d", data)),
    ]


async def test_a_thought_that_was_cut_is_not_kept(serve: Serve) -> None:
    _, model = await serve([Reply(events=[chunk({"reasoning_content": "a"})])])
    deltas: list[ModelDelta] = []
    await failure(model, deltas)

    assert deltas == [ThinkingDelta("a")]
    assert thoughts_of(deltas) == []


async def test_a_service_that_thinks_but_does_not_stream_is_understood(serve: Serve) -> None:
    _, model = await serve([Reply(thinking="Hm.", text="Hi", plain=True)])
    deltas = await told(model)

    assert [part.text for part in thoughts_of(deltas)] == ["Hm."]
    assert text_of(deltas) == "Hi"
