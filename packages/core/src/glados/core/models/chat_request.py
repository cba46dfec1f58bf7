"""Requests for chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from glados.core.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from glados.core.models.encoded import EncodedRequest, arguments_of, encode, left_out
from glados.core.models.tool_names import wire_name
from glados.core.tools import Tool


class ChatRequest(EncodedRequest):
    """A request in the form of the chat completions API."""

    __slots__ = ("_encoded_system", "_encoded_tools")

    def __init__(self, tools: Sequence[Tool], service: str | None) -> None:
        super().__init__(tools, service)
        self._encoded_tools = encode([self._tool(tool) for tool in tools]) if tools else b""
        self._encoded_system = b""

    def body(self, options: dict[str, Any]) -> bytes:
        """The options, the tools and the messages."""
        tools = (b',"tools":', self._encoded_tools) if self._encoded_tools else ()
        messages = b",".join((self._encoded_system, *self.history) if self._encoded_system else self.history)
        return b"".join((encode(options)[:-1], *tools, b',"messages":[', messages, b"]}"))

    def set_system(self, text: str) -> None:
        """The system prompt is the first message."""
        self._encoded_system = encode({"role": "system", "content": text}) if text else b""

    def items(self, message: Message) -> Iterator[dict[str, Any]]:
        """A message of ours is one on the wire, but each result of a tool is one of its own."""
        results = [part for part in message.parts if isinstance(part, ToolResultPart)]
        for result in results:
            yield {"role": "tool", "tool_call_id": result.call_id, "content": _result(result)}
        if message.role == "assistant":
            yield self._answer(message)
        elif not results or len(results) < len(message.parts):
            yield {"role": message.role, "content": _content(message)}

    def _answer(self, message: Message) -> dict[str, Any]:
        answer: dict[str, Any] = {"role": "assistant", "content": message.text}
        for part in message.parts:
            if isinstance(part, ThinkingPart) and (data := self.thought(part)):
                answer[data["field"]] = answer.get(data["field"], "") + part.text
        if message.calls:
            answer["content"] = message.text or None
            answer["tool_calls"] = [_call(call) for call in message.calls]
        return answer

    def _tool(self, tool: Tool) -> dict[str, Any]:
        description = self.names.rewrite(tool.description)
        function = {"name": wire_name(tool.id), "description": description, "parameters": tool.input_schema}
        return {"type": "function", "function": function}


def _call(call: ToolCallPart) -> dict[str, Any]:
    function = {"name": wire_name(call.tool_id), "arguments": arguments_of(call)}
    return {"id": call.id, "type": "function", "function": function}


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Plain text where there is nothing else: every service takes that."""
    if not any(isinstance(part, ImagePart) for part in message.parts):
        return message.text
    return [content for part in message.parts if (content := _content_part(part))]


def _content_part(part: object) -> dict[str, Any] | None:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": part.address}}
    return {"type": "text", "text": part.text} if isinstance(part, TextPart) and part.text else None


def _result(result: ToolResultPart) -> str:
    return f"{result.text}\n{left_out(result.images)}" if result.images else result.text
