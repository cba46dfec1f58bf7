"""A conversation as text for another model to read: one JSON object a line, without pictures, of bounded size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from glados.core.cutting import shortened
from glados.core.messages import ImagePart, Message, TextPart, ToolCallPart, ToolResultPart
from glados.core.outcomes import content

MAX_TEXT_CHARS = 8_000  # of what a person or the model says in one part
MAX_ARGUMENTS_CHARS = 1_000
MAX_RESULT_CHARS = 2_000
_BEGINNING = 4  # of what has room, a quarter is for the beginning


def transcript(messages: Sequence[Message], limit: int) -> str:
    """The messages within `limit` characters; where they are too many, the middle is left out."""
    lines = [json.dumps(line, ensure_ascii=False) for message in messages for line in _lines(message)]
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    head = _that_fit(lines, limit // _BEGINNING)
    tail = _that_fit(lines[len(head) :][::-1], limit - limit // _BEGINNING)[::-1]
    left_out = len(lines) - len(head) - len(tail)
    return "\n".join([*head, f"[… {left_out} lines are left out]", *tail])


def _that_fit(lines: list[str], room: int) -> list[str]:
    fitting: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting


def _lines(message: Message) -> list[dict[str, Any]]:
    """What each part says; thoughts are left out, because what came of them follows."""
    lines: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            lines.append({message.role: shortened(part.text, MAX_TEXT_CHARS)})
        elif isinstance(part, ImagePart):
            lines.append({message.role: "[a picture]"})
        elif isinstance(part, ToolCallPart):
            lines.append({"call": part.tool_id, "input": shortened(part.arguments, MAX_ARGUMENTS_CHARS)})
        elif isinstance(part, ToolResultPart):
            lines.append({"result": part.tool_id, "text": shortened(content(part), MAX_RESULT_CHARS)})
    return lines
