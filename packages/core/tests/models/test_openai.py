"""The adapter for OpenAI's APIs against a scripted server on a real socket: what holds for both of them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import pytest

from glados.core.errors import InvalidSetting, ModelError
from glados.core.messages import Message, ToolCallPart, ToolResultPart, Usage, user_message
from glados.core.model import ModelDelta, ModelDone, ModelRequest, TextDelta, ThinkingDelta, ThinkingDone, ToolCallDelta
from glados.core.models.connection import Connection
from tests.asking import TOOLS, calls_of, prompt, roll, text_of, told
from tests.model_server import Call, Reply, Script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from conftest import Serve

# The events after which the first piece of a text has been sent.
FIRST_PIECE = {"chat": 2, "responses": 4}


async def test_an_answer_is_told_with_its_usage(serve: Serve) -> None:
    _, model = await serve([Reply(text="Hello there", chunks=3)])
    deltas = await told(model)

    assert text_of(deltas) == "Hello there"
    assert deltas[-1] == ModelDone("end", Usage(10, 5, cached_tokens=4, reasoning_tokens=2), "scripted")


async def test_text_is_told_while_the_model_still_writes(serve: Serve, api: str) -> None:
    server, model = await serve([Reply(text="ab", chunks=2, fault="hang", after=FIRST_PIECE[api])])
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

    first, kept, last = (await told(model))[:3]
    assert (first, last) == (ThinkingDelta("Hm."), TextDelta("Yes."))
    assert isinstance(kept, ThinkingDone)
    assert kept.part.text == "Hm."


@pytest.mark.parametrize("split", ["halves", "whole", "together"])
async def test_parallel_calls_are_told_in_order(serve: Serve, split: Any) -> None:
    calls = [Call("dice__roll", {"count": 1}), Call("dice__toss", ""), Call("dice__roll", {"count": 3})]
    _, model = await serve([Reply(text="I roll.", calls=calls, split=split)])
    deltas = await told(model)

    assert deltas[0] == TextDelta("I roll.")
    assert calls_of(deltas) == [("dice.roll", '{"count": 1}'), ("dice.toss", "{}"), ("dice.roll", '{"count": 3}')]
    assert isinstance(deltas[-1], ModelDone)
    assert deltas[-1].stop == "tool_calls"


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
    ],
)
async def test_the_reason_to_stop_is_told(serve: Serve, finish: str, stop: str) -> None:
    _, model = await serve([Reply(text="Hi", finish=finish)])
    done = (await told(model))[-1]

    assert isinstance(done, ModelDone)
    assert done.stop == stop


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


async def test_each_request_names_the_tools_that_it_has(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b"), Reply(text="c")])
    memo: dict[str, Any] = {}
    for tools in (TOOLS, (roll,), ()):
        await told(model, prompt(tools=tools, memo=memo))

    assert [len(request.body.get("tools", ())) for request in server.requests] == [2, 1, 0]
    assert "tools" not in server.requests[2].body


async def test_a_history_that_was_replaced_is_sent_anew(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b")])
    memo: dict[str, Any] = {}
    await told(model, ModelRequest("", [user_message("one"), user_message("two")], TOOLS, memo=memo))
    await told(model, ModelRequest("", [user_message("summary"), user_message("two")], TOOLS, memo=memo))

    body = server.requests[1].body
    assert [message["content"] for message in body.get("messages") or body["input"]] == ["summary", "two"]


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


async def test_a_request_is_sent_once_unless_retries_are_asked_for(serve: Serve) -> None:
    busy = Reply(status=500, headers={"retry-after-ms": "1"})
    once, model = await serve([busy])
    with pytest.raises(ModelError):
        await told(model)
    server, model = await serve([busy, busy, Reply(text="Hi")], max_retries=2)

    assert text_of(await told(model)) == "Hi"
    assert (len(once.requests), len(server.requests)) == (1, 3)


async def test_wrong_and_empty_names_are_told_as_they_are(serve: Serve) -> None:
    _, model = await serve([Reply(calls=[Call("nobody__knows"), Call("")])])

    assert calls_of(await told(model)) == [("nobody__knows", "{}"), ("", "{}")]


@pytest.mark.parametrize("arguments", ['{"count":', "[1]", "count=1", "null"])
async def test_invalid_arguments_are_told_as_they_are(serve: Serve, arguments: str) -> None:
    _, model = await serve([Reply(calls=[Call("dice__roll", arguments), Call("dice__toss")])])

    assert sorted(calls_of(await told(model))) == [("dice.roll", arguments), ("dice.toss", "{}")]


async def test_a_history_with_an_empty_name_and_invalid_arguments_can_be_sent(serve: Serve) -> None:
    server, model = await serve([Reply(text="Hi")])
    asked = Message("assistant", (ToolCallPart("x", "", "{"),))
    await told(model, ModelRequest("", [user_message("Hi"), asked], TOOLS))
    body = server.requests[0].body
    call = body["messages"][1]["tool_calls"][0]["function"] if "messages" in body else body["input"][1]

    assert call["name"]
    assert call["arguments"] == '{"malformed": "{"}'


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidSetting) as raised:
        Connection(api_key="sk-gehe\u00efm")
    assert "gehe" not in str(raised.value)


def test_importing_the_adapter_imports_no_sdk() -> None:
    code = "import sys, glados.core, glados.core.models.openai; print({'openai', 'httpx', 'httpx2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"
