"""Asking a model in a test: two tools, a request, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from glados.core.errors import ModelError
from glados.core.messages import ThinkingPart, user_message
from glados.core.model import Model, ModelDelta, ModelRequest, TextDelta, ThinkingDone, ToolCallDelta
from glados.core.tools import Tool, tool


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


async def told(model: Model, request: ModelRequest | None = None) -> list[ModelDelta]:
    return [delta async for delta in model.stream(request or prompt())]


async def failure(model: Model, before: list[ModelDelta] | None = None) -> ModelError:
    """The error with which a stream ends; what it told before goes into `before`."""
    deltas: list[ModelDelta] = before if before is not None else []

    async def read() -> None:
        async for delta in model.stream(prompt(tools=())):
            deltas.append(delta)  # noqa: PERF401 - a comprehension would lose what came before the error

    with pytest.raises(ModelError) as raised:
        await read()
    return raised.value


def text_of(deltas: list[ModelDelta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls_of(deltas: list[ModelDelta]) -> list[tuple[str, str]]:
    return [(delta.call.tool_id, delta.call.arguments) for delta in deltas if isinstance(delta, ToolCallDelta)]


def thoughts_of(deltas: list[ModelDelta]) -> list[ThinkingPart]:
    return [delta.part for delta in deltas if isinstance(delta, ThinkingDone)]
