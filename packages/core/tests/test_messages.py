from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from glados.core import Message, TextPart, ToolCallPart, ToolResultPart, Usage
from glados.core.errors import InvalidInput
from glados.core.messages import ImagePart, ThinkingPart, message_from_dict, user_message


def test_the_text_of_a_message_is_its_text_parts_joined() -> None:
    message = Message("assistant", (TextPart("Let me "), ToolCallPart("1", "dice.roll", "{}"), TextPart("look.")))

    assert message.text == "Let me look."


def test_the_calls_of_a_message_are_its_tool_calls_in_order() -> None:
    first, second = ToolCallPart("1", "dice.roll", "{}"), ToolCallPart("2", "dice.roll", '{"count": 2}')

    assert Message("assistant", (first, TextPart("and"), second)).calls == (first, second)


def test_a_message_is_told_as_json_and_says_model_and_stop_only_if_it_has_them() -> None:
    assert user_message("Hello").to_dict() == {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    aborted = Message("assistant", (), model="gpt", stop="aborted")
    assert aborted.to_dict() == {"role": "assistant", "parts": [], "model": "gpt", "stop": "aborted"}


def test_a_tool_call_keeps_its_arguments_as_the_model_wrote_them() -> None:
    call = ToolCallPart("c1", "dice.roll", '{"count":  2')

    assert call.to_dict() == {
        "type": "tool_call",
        "id": "c1",
        "tool_id": "dice.roll",
        "arguments": '{"count":  2',
    }


def test_a_tool_result_tells_whether_it_failed_and_with_which_code() -> None:
    part = ToolResultPart("c1", "dice.roll", "Error tool_failed: no.", is_error=True, code="tool_failed", data={"a": 1})

    assert part.to_dict() == {
        "type": "tool_result",
        "call_id": "c1",
        "tool_id": "dice.roll",
        "text": "Error tool_failed: no.",
        "is_error": True,
        "code": "tool_failed",
        "data": {"a": 1},
    }


def test_usage_adds_up_field_by_field() -> None:
    total = Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40)

    assert total.to_dict() == {
        "input_tokens": 11,
        "output_tokens": 22,
        "cached_tokens": 33,
        "reasoning_tokens": 44,
    }


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        user_message("Hello").role = "tool"  # pyright: ignore[reportAttributeAccessIssue]


def test_thinking_is_no_text_and_keeps_what_its_service_gave_with_it() -> None:
    thought = ThinkingPart("Hm.", {"service": "chat", "field": "reasoning"})

    assert Message("assistant", (thought, TextPart("Yes."))).text == "Yes."
    assert thought.to_dict() == {"type": "thinking", "text": "Hm.", "data": {"service": "chat", "field": "reasoning"}}


def test_a_picture_is_its_bytes_or_its_address() -> None:
    inline, linked = ImagePart("image/png", "iVBO"), ImagePart(url="https://example.com/cake.png")

    assert (inline.address, linked.address) == ("data:image/png;base64,iVBO", "https://example.com/cake.png")
    assert inline.to_dict() == {"type": "image", "media_type": "image/png", "data": "iVBO"}
    assert linked.to_dict() == {"type": "image", "url": "https://example.com/cake.png"}
    assert ToolResultPart("c", "dice.roll", "", images=(linked,)).to_dict()["images"] == [linked.to_dict()]


@pytest.mark.parametrize("fields", [{}, {"data": "iVBO"}, {"media_type": "image/png"}, {"data": "", "url": "a"}])
def test_a_picture_that_is_neither_or_both_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        ImagePart(**fields)


@pytest.mark.parametrize(
    "message",
    [
        user_message("Look", (ImagePart("image/png", "iVBO"), ImagePart(url="https://example.com/cake.png"))),
        Message(
            "assistant", (ThinkingPart("Hm.", {"a": 1}), TextPart("x"), ToolCallPart("c", "d.e", "{")), "gpt", "length"
        ),
        Message("tool", (ToolResultPart("c", "d.e", "Error", True, "tool_failed", {"a": [1]}),)),
        Message(
            "tool",
            (
                ToolResultPart(
                    "c", "d.e", "x", False, None, None, (ImagePart(url="u"),), True, "a1", ({"type": "source"},)
                ),
            ),
        ),
    ],
)
def test_a_message_is_made_again_of_what_it_told(message: Message) -> None:
    assert message_from_dict(message.to_dict()) == message


def test_a_part_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'video'"):
        message_from_dict({"role": "user", "parts": [{"type": "video"}]})
