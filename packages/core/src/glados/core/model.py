"""The seam to language models: a request goes in, deltas come out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from glados.core.messages import Message, ThinkingPart, ToolCallPart, Usage
from glados.core.tools import Tool

Stop = Literal["end", "tool_calls", "length", "content_filter"]
Thinking = Literal["off", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    `memo` belongs to the run: a model may keep there what it has encoded so far. Within one memo the messages only
    grow and system and tools stay the same. `thinking` is how much the model shall think; None leaves it to the model.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[Tool]
    max_output_tokens: int | None = None
    thinking: Thinking | None = None
    memo: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what the model says it thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDone:
    """A thought that is complete, to be kept in the message: the pieces of its text were told before."""

    part: ThinkingPart


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A tool call, told as soon as it is complete in the stream."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class ModelDone:
    """The end of the stream; a stream that ends without one was cut."""

    stop: Stop
    usage: Usage | None
    model: str


ModelDelta = TextDelta | ThinkingDelta | ThinkingDone | ToolCallDelta | ModelDone


class Model(Protocol):
    """Something that answers a request with a stream of deltas."""

    @property
    def name(self) -> str:
        """What `/readyz`, logs and messages call this model."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request; raise a ModelError when the model's service fails."""
        ...

    async def close(self) -> None:
        """Free what the model holds."""
        ...


class ModelProvider(Protocol):
    """A plugin's way to bring models: `services.add(ModelProvider, …)`."""

    def model(self, name: str) -> Model | None:
        """The model of that name, or None if it is not one of this provider's."""
        ...
