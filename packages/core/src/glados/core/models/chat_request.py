"""Requests for chat completions as bytes; what was encoded once is kept and only added to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic_core import from_json

from glados.core.messages import Message, TextPart, ToolCallPart, ToolResultPart
from glados.core.model import ModelRequest
from glados.core.models.tool_names import ToolNames, wire_name
from glados.core.tools import Tool

_MEMO = "glados.chat_completions"


class ChatRequest:
    """The encoded request of one run: its history grows with each call, its system prompt and tools stay."""

    __slots__ = ("_count", "_history", "_last", "_system", "_system_text", "_tools", "call_ids", "names", "tools")

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)
        self.names = ToolNames(tool.id for tool in tools)
        self.call_ids: set[str] = set()
        self._tools = _encode([self._encoded_tool(tool) for tool in tools]) if tools else b""
        self._system_text: str | None = None
        self._system = b""
        self._history: list[bytes] = []
        self._count = 0
        self._last: Message | None = None

    @classmethod
    def of(cls, request: ModelRequest) -> ChatRequest:
        """The encoded request that the run's memo holds, brought up to date."""
        kept = request.memo.get(_MEMO)
        if not isinstance(kept, ChatRequest) or not kept._continues(request):
            kept = request.memo[_MEMO] = cls(request.tools)
        kept._update(request)
        return kept

    def body(self, options: dict[str, Any]) -> bytes:
        """The request's body: the options, then the tools and the messages."""
        tools = (b',"tools":', self._tools) if self._tools else ()
        messages = b",".join((self._system, *self._history) if self._system else self._history)
        return b"".join((_encode(options)[:-1], *tools, b',"messages":[', messages, b"]}"))

    def _continues(self, request: ModelRequest) -> bool:
        messages, tools = request.messages, request.tools
        return (
            len(messages) >= self._count
            and (self._count == 0 or messages[self._count - 1] is self._last)
            and len(tools) == len(self.tools)
            and all(tool is known for tool, known in zip(tools, self.tools, strict=True))
        )

    def _update(self, request: ModelRequest) -> None:
        if request.system != self._system_text:
            self._system_text = request.system
            system = self.names.rewrite(request.system)
            self._system = _encode({"role": "system", "content": system}) if system else b""
        for message in request.messages[self._count :]:
            self._history.extend(map(_encode, self._encoded_message(message)))
        self._count = len(request.messages)
        self._last = request.messages[-1] if request.messages else None

    def _encoded_tool(self, tool: Tool) -> dict[str, Any]:
        description = self.names.rewrite(tool.description)
        function = {"name": wire_name(tool.id), "description": description, "parameters": tool.input_schema}
        return {"type": "function", "function": function}

    def _encoded_message(self, message: Message) -> Iterator[dict[str, Any]]:
        """A message of ours is one on the wire, but each result of a tool is one of its own."""
        text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        results = [part for part in message.parts if isinstance(part, ToolResultPart)]
        for result in results:
            yield {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
        if calls:
            self.call_ids.update(call.id for call in calls)
            yield {"role": "assistant", "content": text or None, "tool_calls": [_encoded_call(call) for call in calls]}
        elif text or not results:
            yield {"role": message.role, "content": text}


def _encoded_call(call: ToolCallPart) -> dict[str, Any]:
    # Some services parse the arguments of past calls: one malformed call would fail every later request.
    arguments = call.arguments if is_json_object(call.arguments) else json.dumps({"malformed": call.arguments})
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": wire_name(call.tool_id), "arguments": arguments},
    }


def is_json_object(text: str) -> bool:
    """Whether the text is one complete JSON object."""
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False


def _encode(value: Any) -> bytes:
    # Half a surrogate pair is no text that can be sent.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
