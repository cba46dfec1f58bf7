"""What is sent to the responses API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from glados.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, user_message
from glados.core.model import ModelRequest
from tests.asking import TOOLS, prompt, roll, text_of, thoughts_of, told
from tests.model_server import Call, Reply

if TYPE_CHECKING:
    from conftest import Serve


@pytest.fixture
def api() -> str:
    return "responses"


async def test_the_request_says_what_the_api_wants(serve: Serve) -> None:
    server, model = await serve([Reply(text="Hi")])
    await told(model, prompt("Żółw", system="Use dice.roll.", max_output_tokens=17, thinking="low"))
    request = server.requests[0]
    tools = request.body.pop("tools")

    assert request.path == "/v1/responses"
    assert request.body == {
        "model": "scripted",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 17,
        "reasoning": {"effort": "low", "summary": "auto"},
        "instructions": "Use dice__roll.",
        "input": [{"role": "user", "content": "Żółw"}],
    }
    assert tools[0] == {
        "type": "function",
        "name": "dice__roll",
        "description": "Roll dice; dice__toss tosses a coin.",
        "parameters": roll.input_schema,
        "strict": False,
    }


async def test_nothing_is_said_of_thinking_tools_and_instructions_where_there_are_none(serve: Serve) -> None:
    server, model = await serve([Reply(text="Hi"), Reply(text="Hi")])
    await told(model, prompt(tools=()))
    await told(model, prompt(tools=(), thinking="off"))

    assert set(server.requests[0].body) == {"model", "stream", "store", "include", "input"}
    assert server.requests[1].body["reasoning"] == {"effort": "none"}


async def test_what_is_new_in_the_history_is_added_to_what_was_sent(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b")])
    memo: dict[str, Any] = {}
    calls = (ToolCallPart("x", "dice.roll", '{"count": 1}'), ToolCallPart("y", "dice.roll", '{"count"'))
    results = (ToolResultPart("x", "dice.roll", "[1]"), ToolResultPart("y", "dice.roll", "not JSON", is_error=True))
    history = [user_message("Hi")]
    await told(model, ModelRequest("", tuple(history), TOOLS, memo=memo))
    history += [Message("assistant", (TextPart("I roll."), *calls)), Message("tool", results)]
    await told(model, ModelRequest("", tuple(history), TOOLS, memo=memo))
    sent = server.requests[1].body["input"]

    assert sent[:2] == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "I roll."}]
    assert [item["name"] for item in sent[2:4]] == ["dice__roll", "dice__roll"]
    assert [json.loads(item["arguments"]) for item in sent[2:4]] == [{"count": 1}, {"malformed": '{"count"'}]
    assert sent[4:] == [
        {"type": "function_call_output", "call_id": "x", "output": "[1]"},
        {"type": "function_call_output", "call_id": "y", "output": "not JSON"},
    ]


async def test_pictures_are_sent_from_the_user_and_from_tools(serve: Serve) -> None:
    server, model = await serve([Reply(text="A cake.")])
    png = ImagePart("image/png", "iVBO")
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"}
    asked = Message("assistant", (ToolCallPart("x", "dice.roll", "{}"),))
    result = ToolResultPart("x", "dice.roll", "Seen.", images=(png,))
    history = [Message("user", (TextPart("What?"), png)), asked, Message("tool", (result,))]
    await told(model, ModelRequest("", history, TOOLS))
    sent = server.requests[0].body["input"]

    assert sent[0]["content"] == [{"type": "input_text", "text": "What?"}, image]
    assert sent[2]["output"] == [{"type": "input_text", "text": "Seen."}, image]


async def test_thoughts_go_back_before_what_came_of_them(serve: Serve) -> None:
    server, model = await serve([Reply(thinking="Hm.", calls=[Call("dice__roll", {}, id="x")]), Reply(text="1")])
    deltas = await told(model)
    asked = Message("assistant", (*thoughts_of(deltas), ToolCallPart("x", "dice.roll", "{}")))
    results = Message("tool", (ToolResultPart("x", "dice.roll", "[1]"),))
    await told(model, ModelRequest("", [user_message("Hi"), asked, results], TOOLS))
    summary = [{"type": "summary_text", "text": "Hm."}]

    assert server.requests[1].body["input"][1:3] == [
        {"type": "reasoning", "summary": summary, "encrypted_content": "encrypted: Hm."},
        {"type": "function_call", "call_id": "x", "name": "dice__roll", "arguments": "{}"},
    ]


async def test_thoughts_that_nothing_follows_or_of_another_service_are_not_sent(serve: Serve) -> None:
    server, model = await serve([Reply(text="Yes.")])
    own = ThinkingPart("Hm.", {"service": f"responses {server.url}", "item": {"type": "reasoning", "summary": []}})
    other = ThinkingPart("Oh.", {"service": f"chat {server.url}", "field": "reasoning"})
    history = [user_message("Hi"), Message("assistant", (other, ThinkingPart("Ah."), TextPart("Yes."), own))]
    await told(model, ModelRequest("", history, ()))

    assert server.requests[0].body["input"][1:] == [{"role": "assistant", "content": "Yes."}]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("invalid_encrypted_content", "The encrypted content could not be verified."),
        (None, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    ],
)
async def test_thoughts_that_the_service_cannot_read_are_left_out(serve: Serve, code: str | None, error: str) -> None:
    refusal = Reply(status=400, code=code, error=error)
    server, model = await serve([Reply(thinking="Hm.", text="Yes."), refusal, Reply(text="Hi")])
    answer = Message("assistant", (*thoughts_of(await told(model)), TextPart("Yes.")))

    assert text_of(await told(model, ModelRequest("", [user_message("Hi"), answer], ()))) == "Hi"
    assert [len(request.body["input"]) for request in server.requests] == [1, 3, 2]
    assert "include" in server.requests[2].body
