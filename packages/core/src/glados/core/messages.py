"""What is said in a session: messages, their parts, and what they cost in tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from glados.core.errors import InvalidInput

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """What a model said of its thinking; `data` is its service's own, and only that service can read it again."""

    text: str
    data: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON."""
        return {"type": "thinking", "text": self.text, "data": self.data}


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture: its bytes in base64 with their type, or the address where the model's service finds it."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.data is None) or (self.data is not None and not self.media_type):
            raise InvalidInput("A picture needs a media type with base64 data, or a URL, and not both.")

    @property
    def address(self) -> str:
        """The picture as one URL."""
        return self.url if self.url is not None else f"data:{self.media_type};base64,{self.data}"

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON."""
        if self.url is not None:
            return {"type": "image", "url": self.url}
        return {"type": "image", "media_type": self.media_type, "data": self.data}


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """The model asks for a tool; `arguments` is the JSON text as the model wrote it."""

    id: str
    tool_id: str
    arguments: str

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON."""
        return {"type": "tool_call", "id": self.id, "tool_id": self.tool_id, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What the model reads of one tool call."""

    call_id: str
    tool_id: str
    text: str
    is_error: bool = False
    code: str | None = None
    data: dict[str, Any] | None = None
    images: tuple[ImagePart, ...] = ()
    untrusted: bool = False
    artifact_id: str | None = None
    meta: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The part as JSON; what most results do not have is told only where it is."""
        told: dict[str, Any] = {
            "type": "tool_result",
            "call_id": self.call_id,
            "tool_id": self.tool_id,
            "text": self.text,
            "is_error": self.is_error,
            "code": self.code,
            "data": self.data,
        }
        if self.images:
            told["images"] = [image.to_dict() for image in self.images]
        if self.untrusted:
            told["untrusted"] = True
        if self.artifact_id is not None:
            told["artifact_id"] = self.artifact_id
        if self.meta:
            told["meta"] = list(self.meta)
        return told


Part = TextPart | ThinkingPart | ImagePart | ToolCallPart | ToolResultPart


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session; a `tool` message carries the results of the calls before it.

    The parts of an answer stand in the order in which they arrived: services want thinking before what came of it.
    """

    role: Role
    parts: tuple[Part, ...]
    model: str | None = None
    stop: str | None = None

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls that this message asks for."""
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))

    def to_dict(self) -> dict[str, Any]:
        """The message as JSON."""
        data: dict[str, Any] = {"role": self.role, "parts": [part.to_dict() for part in self.parts]}
        if self.model is not None:
            data["model"] = self.model
        if self.stop is not None:
            data["stop"] = self.stop
        return data


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or many model calls; they add up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """The counts as JSON."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }


def message_from_dict(data: Mapping[str, Any]) -> Message:
    """The message that gave this JSON, which has to be right: stores wrote it themselves, imports are checked first."""
    return Message(data["role"], tuple(map(part_from_dict, data["parts"])), data.get("model"), data.get("stop"))


def part_from_dict(data: Mapping[str, Any]) -> Part:
    """The part of a message that gave this JSON."""
    kind = data["type"]
    if kind == "text":
        return TextPart(data["text"])
    if kind == "tool_call":
        return ToolCallPart(data["id"], data["tool_id"], data["arguments"])
    if kind == "thinking":
        return ThinkingPart(data["text"], data.get("data"))
    if kind == "image":
        return _image_from_dict(data)
    if kind == "tool_result":
        return ToolResultPart(
            data["call_id"],
            data["tool_id"],
            data["text"],
            data["is_error"],
            data["code"],
            data["data"],
            tuple(map(_image_from_dict, data.get("images", ()))),
            data.get("untrusted", False),
            data.get("artifact_id"),
            tuple(data.get("meta", ())),
        )
    raise InvalidInput(f"A message has a part of the type {kind!r}, which nobody knows.")


def _image_from_dict(data: Mapping[str, Any]) -> ImagePart:
    return ImagePart(data.get("media_type"), data.get("data"), data.get("url"))


def user_message(text: str, images: tuple[ImagePart, ...] = ()) -> Message:
    """A person's prompt, with the pictures that belong to it."""
    return Message("user", (TextPart(well_formed(text)), *images))


def unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """The calls of the last answer that have no result yet."""
    told: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return [call for call in message.calls if call.id not in told]
        told.update(part.call_id for part in message.parts if isinstance(part, ToolResultPart))
    return []


def well_formed(text: str) -> str:
    """The text with its halves of characters joined or replaced: no store and no client can take lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
