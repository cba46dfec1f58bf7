"""The adapter for OpenAI's API against a scripted server on a real socket: what it sends and what it tells."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import pytest

from glados.core.errors import InvalidSetting
from glados.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, Usage, user_message
from glados.core.model import ModelDelta, ModelDone, ModelRequest, TextDelta, ThinkingDelta, ToolCallDelta
from glados.core.models.openai import OpenAIModel
from glados.core.tools import Tool, tool
from tests.model_server import Call, Reply, Script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from conftest import Serve


@tool("dice.roll", read_only=True)
async def roll(count: int = 1) -> list[int]:
    """Roll dice; dice.toss tosses a coin."""
    return [1] * count


@tool("dice.toss", read_only=True)
async def toss() -> str:
    """Toss a coin."""
    return "heads"


TOOLS = (roll, toss)


def prompt(text: str = "Hi", *, tools: Sequence[Tool] = TOOLS, **options: Any) -> ModelRequest:
    return ModelRequest(options.pop("system", ""), [user_message(text)], tools, **options)


async def told(model: OpenAIModel, request: ModelRequest | None = None) -> list[ModelDelta]:
    return [delta async for delta in model.stream(request or prompt())]


def text_of(deltas: list[ModelDelta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls_of(deltas: list[ModelDelta]) -> list[tuple[str, str]]:
    return [(delta.call.tool_id, delta.call.arguments) for delta in deltas if isinstance(delta, ToolCallDelta)]


async def test_an_answer_is_told_with_its_usage(serve: Serve) -> None:
    _, model = await serve([Reply(text="Hello there", chunks=3)])
    deltas = await told(model)

    assert text_of(deltas) == "Hello there"
    assert deltas[-1] == ModelDone("end", Usage(10, 5, cached_tokens=4, reasoning_tokens=2), "scripted")


async def test_text_is_told_while_the_model_still_writes(serve: Serve) -> None:
    server, model = await serve([Reply(text="ab", chunks=2, fault="hang", after=2)])
    async with aclosing(cast("AsyncGenerator[ModelDelta]", model.stream(prompt()))) as stream:
        assert await anext(stream) == TextDelta("a")
        server.release()
        assert await anext(stream) == TextDelta("b")


@pytest.mark.parametrize("drip", [1, 7])
async def test_an_answer_may_arrive_in_pieces_of_any_size(serve: Serve, drip: int) -> None:
    _, model = await serve([Reply(text="żółw 🐢", calls=[Call("dice__roll", {"count": 2})], drip=drip)])
    deltas = await told(model)

    assert text_of(deltas) == "żółw 🐢"
    assert calls_of(deltas) == [("dice.roll", '{"count": 2}')]


async def test_thinking_is_told_apart_from_text(serve: Serve) -> None:
    _, model = await serve([Reply(thinking="Hm.", text="Yes.")])

    assert (await told(model))[:2] == [ThinkingDelta("Hm."), TextDelta("Yes.")]


async def test_half_an_emoji_does_not_break_the_answer(serve: Serve) -> None:
    half = '{"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}'
    _, model = await serve([Reply(events=[half])])

    assert text_of(await told(model)) == "a?"


@pytest.mark.parametrize("split", ["halves", "whole", "together"])
async def test_parallel_calls_are_told_in_order(serve: Serve, split: Any) -> None:
    calls = [Call("dice__roll", {"count": 1}), Call("dice__toss", ""), Call("dice__roll", {"count": 3})]
    _, model = await serve([Reply(text="I roll.", calls=calls, split=split)])
    deltas = await told(model)

    assert deltas[0] == TextDelta("I roll.")
    assert calls_of(deltas) == [("dice.roll", '{"count": 1}'), ("dice.toss", "{}"), ("dice.roll", '{"count": 3}')]
    assert isinstance(deltas[-1], ModelDone)
    assert deltas[-1].stop == "tool_calls"


async def test_a_call_is_told_as_soon_as_the_next_one_begins(serve: Serve) -> None:
    calls = [Call("dice__roll", {}, id="a"), Call("dice__toss", {}, id="b")]
    server, model = await serve([Reply(calls=calls, split="whole", fault="hang", after=3)])
    async with aclosing(cast("AsyncGenerator[ModelDelta]", model.stream(prompt()))) as stream:
        assert await anext(stream) == ToolCallDelta(ToolCallPart("a", "dice.roll", "{}"))
        assert server.hanging.is_set()


async def test_an_id_that_the_history_has_is_not_used_again(serve: Serve) -> None:
    asked = Message("assistant", (ToolCallPart("call_0", "dice.roll", "{}"),))
    answered = Message("tool", (ToolResultPart("call_0", "dice.roll", "[1]"),))
    _, model = await serve([Reply(calls=[Call("dice__roll", {}, id="call_0"), Call("dice__roll", {}, id="call_0")])])
    deltas = await told(model, ModelRequest("", [user_message("Hi"), asked, answered], TOOLS))

    ids = [delta.call.id for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert len({"call_0", *ids}) == 3


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "end"),
        ("eos", "end"),
    ],
)
async def test_the_reason_to_stop_is_told(serve: Serve, finish: str, stop: str) -> None:
    _, model = await serve([Reply(text="Hi", finish=finish)])
    done = (await told(model))[-1]

    assert isinstance(done, ModelDone)
    assert done.stop == stop


async def test_calls_with_the_finish_reason_stop_are_still_calls(serve: Serve) -> None:
    _, model = await serve([Reply(calls=[Call("dice__roll")], finish="stop")])

    assert (await told(model))[-1] == ModelDone("tool_calls", Usage(10, 5, 4, 2), "scripted")


async def test_a_call_cut_by_the_token_limit_is_not_told(serve: Serve) -> None:
    _, model = await serve([Reply(calls=[Call("dice__roll", {}), Call("dice__roll", '{"cou')], finish="length")])
    deltas = await told(model)

    assert calls_of(deltas) == [("dice.roll", "{}")]
    assert isinstance(deltas[-1], ModelDone)
    assert deltas[-1].stop == "length"


async def test_a_service_may_leave_out_usage_and_the_end_mark(serve: Serve) -> None:
    _, model = await serve([Reply(text="Hi", usage=None, done=False)])

    assert await told(model) == [TextDelta("Hi"), ModelDone("end", None, "scripted")]


async def test_an_empty_answer_is_an_answer(serve: Serve) -> None:
    _, model = await serve([Reply()])

    assert await told(model) == [ModelDone("end", Usage(10, 5, 4, 2), "scripted")]


async def test_a_service_that_does_not_stream_is_understood(serve: Serve) -> None:
    _, model = await serve([Reply(text="Hi", calls=[Call("dice__roll")], plain=True)])
    deltas = await told(model)

    assert text_of(deltas) == "Hi"
    assert calls_of(deltas) == [("dice.roll", "{}")]


async def test_the_request_says_what_the_api_wants(serve: Serve) -> None:
    server, model = await serve([Reply(text="Hi")])
    await told(model, prompt("Żółw", system="Use dice.roll.", max_output_tokens=7))
    body = server.requests[0].body

    assert body["model"] == "scripted"
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["max_tokens"] == 7
    assert body["messages"] == [
        {"role": "system", "content": "Use dice__roll."},
        {"role": "user", "content": "Żółw"},
    ]
    function = body["tools"][0]["function"]
    assert function["name"] == "dice__roll"
    assert function["description"] == "Roll dice; dice__toss tosses a coin."
    assert function["parameters"] == roll.input_schema


async def test_each_request_names_the_tools_that_it_has(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b"), Reply(text="c")])
    memo: dict[str, Any] = {}
    for tools in (TOOLS, (roll,), ()):
        await told(model, prompt(tools=tools, memo=memo))

    assert [len(request.body.get("tools", ())) for request in server.requests] == [2, 1, 0]
    assert "tools" not in server.requests[2].body


async def test_what_is_new_in_the_history_is_added_to_what_was_sent(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b"), Reply(text="c")])
    memo: dict[str, Any] = {}
    call = ToolCallPart("x", "dice.roll", '{"count": 1}')
    broken = ToolCallPart("y", "dice.roll", '{"count"')
    asked = Message("assistant", (TextPart("I roll."), call, broken))
    results = (ToolResultPart("x", "dice.roll", "[1]"), ToolResultPart("y", "dice.roll", "not JSON", is_error=True))
    history = [user_message("Hi")]
    await told(model, ModelRequest("", tuple(history), TOOLS, memo=memo))
    history += [asked, Message("tool", results)]
    await told(model, ModelRequest("", tuple(history), TOOLS, memo=memo))
    sent = server.requests[1].body["messages"]

    assert sent[0] == server.requests[0].body["messages"][0] == {"role": "user", "content": "Hi"}
    assert sent[1]["content"] == "I roll."
    assert [entry["function"]["name"] for entry in sent[1]["tool_calls"]] == ["dice__roll", "dice__roll"]
    assert [json.loads(entry["function"]["arguments"]) for entry in sent[1]["tool_calls"]] == [
        {"count": 1},
        {"malformed": '{"count"'},
    ]
    assert sent[2:] == [
        {"role": "tool", "tool_call_id": "x", "content": "[1]"},
        {"role": "tool", "tool_call_id": "y", "content": "not JSON"},
    ]


async def test_a_history_that_was_replaced_is_sent_anew(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b")])
    memo: dict[str, Any] = {}
    await told(model, ModelRequest("", [user_message("one"), user_message("two")], TOOLS, memo=memo))
    await told(model, ModelRequest("", [user_message("summary"), user_message("two")], TOOLS, memo=memo))

    assert [message["content"] for message in server.requests[1].body["messages"]] == ["summary", "two"]


async def test_the_key_is_sent_and_a_service_without_one_gets_a_dummy(serve: Serve) -> None:
    keyed, model = await serve(Script([Reply(text="Hi")], api_key="sk-right"), api_key=" sk-right\n")
    await told(model)
    open_to_all, model = await serve([Reply(text="Hi")])
    await told(model)

    assert keyed.requests[0].headers["authorization"] == "Bearer sk-right"
    assert open_to_all.requests[0].headers["authorization"] == "Bearer none"


async def test_the_first_model_is_taken_where_none_is_named(serve: Serve) -> None:
    server, model = await serve(Script([Reply(text="a"), Reply(text="b")], models=["llama", "other"]), name=None)
    await told(model)
    await told(model)

    assert model.name == "llama"
    assert [request.body["model"] for request in server.requests] == ["llama", "llama"]


async def test_calls_one_after_the_other_share_a_connection(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b"), Reply(text="c")])
    for _ in range(3):
        await told(model)

    assert server.connections == 1


async def test_a_stream_that_nobody_reads_on_leaves_the_model_usable(serve: Serve) -> None:
    server, model = await serve([Reply(text="ab", chunks=2, fault="hang", after=2), Reply(text="c")])
    task = asyncio.create_task(told(model))
    await server.hanging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert text_of(await told(model)) == "c"


async def test_a_request_that_was_refused_for_now_is_sent_again(serve: Serve) -> None:
    busy = Reply(status=500, headers={"retry-after-ms": "1"})
    server, model = await serve([busy, busy, Reply(text="Hi")], max_retries=2)

    assert text_of(await told(model)) == "Hi"
    assert len(server.requests) == 3


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidSetting) as raised:
        OpenAIModel("gpt-5", api_key="sk-gehe\u00efm")
    assert "gehe" not in str(raised.value)


def test_importing_the_adapter_imports_no_sdk() -> None:
    code = "import sys, glados.core.models.openai; print({'openai', 'httpx', 'httpx2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"
