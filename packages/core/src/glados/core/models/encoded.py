"""Requests as bytes; what was encoded once is kept in the run's memo and only added to."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

from pydantic_core import from_json

from glados.core.messages import ImagePart, Message, ThinkingPart, ToolCallPart
from glados.core.model import ModelRequest
from glados.core.models.tool_names import ToolNames
from glados.core.tools import Tool


class EncodedRequest:
    """The encoded request of one run: its history grows with each call, its system prompt and tools stay.

    A subclass is the form of one API. `service` names the service whose thoughts can be sent back; None sends none.
    """

    __slots__ = ("_count", "_last", "_tools", "call_ids", "has_thoughts", "history", "names", "service", "system")

    def __init__(self, tools: Sequence[Tool], service: str | None) -> None:
        self.names = ToolNames(tool.id for tool in tools)
        self.service = service
        self.call_ids: set[str] = set()
        self.has_thoughts = False
        self.system = ""
        self.history: list[bytes] = []
        self._tools = tuple(tools)
        self._count = 0
        self._last: Message | None = None

    @classmethod
    def of(cls, request: ModelRequest, service: str | None) -> Self:
        """The encoded request that the run's memo holds, brought up to date."""
        key = f"glados.{cls.__name__} {service}"
        kept = request.memo.get(key)
        if not isinstance(kept, cls) or not kept._continues(request):
            kept = request.memo[key] = cls(request.tools, service)
        kept._update(request)
        return kept

    @abstractmethod
    def body(self, options: dict[str, Any]) -> bytes:
        """The request's body: the options, then what stays the same from call to call, then the history."""

    @abstractmethod
    def set_system(self, text: str) -> None:
        """Take a system prompt that is not the one before."""

    @abstractmethod
    def items(self, message: Message) -> Iterator[dict[str, Any]]:
        """What one message is on the wire."""

    def thought(self, part: ThinkingPart) -> dict[str, Any] | None:
        """What this service once gave us with a thought; None if it was another one."""
        data = part.data
        if data is None or self.service is None or data.get("service") != self.service:
            return None
        self.has_thoughts = True
        return data

    def _continues(self, request: ModelRequest) -> bool:
        messages, tools = request.messages, request.tools
        return (
            len(messages) >= self._count
            and (self._count == 0 or messages[self._count - 1] is self._last)
            and len(tools) == len(self._tools)
            and all(tool is known for tool, known in zip(tools, self._tools, strict=True))
        )

    def _update(self, request: ModelRequest) -> None:
        if request.system != self.system:
            self.system = request.system
            self.set_system(self.names.rewrite(request.system))
        for message in request.messages[self._count :]:
            self.call_ids.update(call.id for call in message.calls)
            self.history.extend(map(encode, self.items(message)))
        self._count = len(request.messages)
        self._last = request.messages[-1] if request.messages else None


def arguments_of(call: ToolCallPart) -> str:
    """The arguments of a past call; some services parse them, so a malformed one would fail every later request."""
    return call.arguments if is_json_object(call.arguments) else json.dumps({"malformed": call.arguments})


def left_out(images: Sequence[ImagePart]) -> str:
    """The note that stands for pictures where an API takes none."""
    return f"[{len(images)} picture(s) left out: this model's API takes pictures from the user only]"


def is_json_object(text: str) -> bool:
    """Whether the text is one complete JSON object."""
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False


def encode(value: Any) -> bytes:
    """JSON as bytes; half a surrogate pair is no text that can be sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
