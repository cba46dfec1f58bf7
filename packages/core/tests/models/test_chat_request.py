"""What is sent to the chat completions API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from glados.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user_message
from glados.core.model import ModelRequest
from tests.asking import TOOLS, prompt, roll, text_of, thoughts_of, told
from tests.model_server import Reply

if TYPE_CHECKING:
    from conftest import Serve


@pytest.fixture
def api() -> str:
    return "chat"


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


async def test_pictures_are_sent_with_the_text(serve: Serve) -> None:
    server, model = await serve([Reply(text="A cake.")])
    asked = Message("user", (TextPart("What?"), ImagePart("image/png", "iVBO"), ImagePart(url="https://example.com/a")))
    await told(model, ModelRequest("", [asked], ()))

    assert server.requests[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a"}},
    ]


async def test_pictures_of_tools_are_left_out_with_a_note(serve: Serve) -> None:
    server, model = await serve([Reply(text="A cake.")])
    asked = Message("assistant", (ToolCallPart("x", "dice.roll", "{}"),))
    result = ToolResultPart("x", "dice.roll", "Seen.", images=(ImagePart("image/png", "iVBO"),))
    await told(model, ModelRequest("", [user_message("Hi"), asked, Message("tool", (result,))], TOOLS))
    content = server.requests[0].body["messages"][2]["content"]

    assert content.startswith("Seen.\n[1 picture(s) left out")


async def test_thoughts_go_back_in_the_field_in_which_they_came(serve: Serve) -> None:
    server, model = await serve([Reply(thinking="Hm.", text="Yes."), Reply(text="Still.")])
    thoughts = thoughts_of(await told(model))
    answer = Message("assistant", (*thoughts, TextPart("Yes.")))
    await told(model, ModelRequest("", [user_message("Hi"), answer, user_message("Sure?")], ()))

    assert server.requests[1].body["messages"][1] == {
        "role": "assistant",
        "content": "Yes.",
        "reasoning_content": "Hm.",
    }


async def test_thoughts_of_another_service_are_not_sent(serve: Serve) -> None:
    server, model = await serve([Reply(text="Yes.")])
    other = ThinkingPart("Hm.", {"service": "chat https://example.com/v1", "field": "reasoning_content"})
    answer = Message("assistant", (other, ThinkingPart("Oh."), TextPart("Yes.")))
    await told(model, ModelRequest("", [user_message("Hi"), answer], ()))

    assert server.requests[0].body["messages"][1] == {"role": "assistant", "content": "Yes."}


async def test_thoughts_that_the_service_refuses_are_left_out_for_the_rest_of_the_run(serve: Serve) -> None:
    refusal = Reply(status=400, error="The reasoning_content is an intermediate result: do not include it")
    server, model = await serve([Reply(thinking="Hm.", text="Yes."), refusal, Reply(text="a"), Reply(text="b")])
    memo: dict[str, Any] = {}
    answer = Message("assistant", (*thoughts_of(await told(model)), TextPart("Yes.")))
    request = ModelRequest("", [user_message("Hi"), answer], (), memo=memo)

    assert [text_of(await told(model, request)), text_of(await told(model, request))] == ["a", "b"]
    assert ["reasoning_content" in sent.body["messages"][-1] for sent in server.requests[1:]] == [True, False, False]


@pytest.mark.parametrize(
    ("thinking", "effort"), [(None, None), ("off", "none"), ("low", "low"), ("medium", "medium"), ("high", "high")]
)
async def test_how_much_to_think_is_said(serve: Serve, thinking: Any, effort: str | None) -> None:
    server, model = await serve([Reply(text="Hi")])
    await told(model, prompt(thinking=thinking))

    assert server.requests[0].body.get("reasoning_effort") == effort
