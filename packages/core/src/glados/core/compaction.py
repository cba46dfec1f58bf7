"""Compaction: a long history gives way to a summary of its older part, and its latest turns stay as they are.

Nothing is deleted: a compaction is one more entry, from which the history that the model reads is rebuilt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from glados.core.cutting import shortened
from glados.core.errors import ModelError
from glados.core.fences import MEANING, Fence
from glados.core.messages import (
    Message,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    user_message,
    well_formed,
)
from glados.core.model import ModelRequest
from glados.core.session_entries import arranged
from glados.core.sessions import Entry
from glados.core.transcripts import transcript

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1_500
KEEP_TOKENS = 20_000  # of the latest messages, at most
MAX_SUMMARY_CHARS = 20_000
MAX_SUMMARY_TOKENS = 8_000  # a model that thinks needs some of them for that
MAX_TRANSCRIPT_CHARS = 240_000
MAX_REQUESTS_CHARS = 8_000  # of what the person said in the part that was summarised, verbatim
MAX_REQUEST_CHARS = 2_000

INSTRUCTIONS = (
    "You summarise the older part of a conversation between a person and an assistant that works with tools, so that"
    " the assistant can go on without having it before its eyes. You get the conversation as JSON lines. Write what is"
    " still needed, under these headings, and leave out what is not: Goal and wishes of the person; What has been done"
    " and decided; Facts found out, with exact names, numbers, paths, addresses and ids; What failed, and why; What"
    f" comes next. No preface. {MEANING}"
)
Summarise = Callable[[ModelRequest], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a compaction summarises, behind which earlier summary, and what stays."""

    old: tuple[Message, ...]
    previous: dict[str, Any] | None
    first_kept_id: str

    @property
    def tainted(self) -> bool:
        """Whether something from outside is in what is summarised."""
        if self.previous is not None and self.previous.get("tainted"):
            return True
        results = (part for message in self.old for part in message.parts if isinstance(part, ToolResultPart))
        return any(part.untrusted for part in results)


def estimate(messages: Sequence[Message], usage: Usage | None = None, known: int = 0, extra_chars: int = 0) -> int:
    """About how many tokens the next prompt has.

    `usage` is that of the last call and tells of the first `known` messages, its answer included; without one
    everything is estimated, and `extra_chars` is the size of system prompt and tools.
    """
    if usage is None or not usage.input_tokens:
        return (extra_chars + sum(map(_size, messages))) // CHARS_PER_TOKEN
    return usage.input_tokens + usage.output_tokens + sum(map(_size, messages[known:])) // CHARS_PER_TOKEN


def due(tokens: int, context_tokens: int, compact_at: float) -> bool:
    """Whether a prompt of that size has come too near to what the model can take."""
    return tokens >= context_tokens * compact_at


def plan(entries: Sequence[Entry], keep_tokens: int = KEEP_TOKENS) -> Plan | None:
    """Where to cut: the latest messages that fit stay, at most half of all; None if nothing can be summarised."""
    compaction, kept = _visible(entries)
    messages = [message for _, message in kept]
    behind = _sizes_behind(messages)
    # A plugin's note may stand behind entries that are later than itself, so nothing is cut there.
    cuts = [cut for cut in _cuts(messages) if kept[cut][0].kind == "message"]
    if not cuts:
        return None
    room = min(keep_tokens * CHARS_PER_TOKEN, behind[0] // 2)
    fitting = [cut for cut in cuts if behind[cut] <= room] or cuts[-1:]
    cut = fitting[0]
    turn = next((cut for cut in fitting if messages[cut].role == "user"), cut)
    if 2 * behind[turn] >= behind[cut]:  # whole turns read better, unless hardly anything would stay
        cut = turn
    return Plan(tuple(messages[:cut]), _payload(compaction), kept[cut][0].id)


def request(plan: Plan, max_transcript_chars: int = MAX_TRANSCRIPT_CHARS) -> ModelRequest:
    """What a model is asked for a summary. All of the conversation is data to it, so all of it is in a delimiter."""
    before = f"The summary so far, which yours replaces:\n{plan.previous['summary']}\n\n" if plan.previous else ""
    text = Fence().around(f"{before}{transcript(plan.old, max_transcript_chars)}")
    return ModelRequest(INSTRUCTIONS, [user_message(text)], (), max_output_tokens=MAX_SUMMARY_TOKENS)


async def compact(
    entries: Sequence[Entry], summarise: Summarise, *, tokens_before: int, context_tokens: int, model: str
) -> dict[str, Any] | None:
    """The payload of a compaction entry; None if there is nothing that could be summarised.

    The same whether the prompt came near its limit or was refused as too long.
    """
    found = plan(entries, min(KEEP_TOKENS, context_tokens // 4))
    if found is None:
        return None
    asked = request(found, min(MAX_TRANSCRIPT_CHARS, context_tokens * CHARS_PER_TOKEN // 2))
    summary = well_formed(await summarise(asked)).strip()
    if not summary:
        raise ModelError("The model gave no summary of the conversation: set MODEL_SMALL to another one.", model=model)
    return {
        "summary": shortened(summary, MAX_SUMMARY_CHARS),
        "first_kept_id": found.first_kept_id,
        "tokens_before": tokens_before,
        "model": model,
        "tainted": found.tainted,
        "fence": Fence().token if found.tainted else None,
    }


def history(entries: Sequence[Entry]) -> list[Message]:
    """What the model reads: the last summary, if there is one, and the messages that stayed or came after it."""
    compaction, kept = _visible(entries)
    messages = [message for _, message in kept]
    payload = _payload(compaction)
    if payload is None:
        return messages
    first = kept[0][0].seq if kept else entries[-1].seq + 1
    return [_summary_message(payload, _requests(entries, first)), *messages]


def _visible(entries: Sequence[Entry]) -> tuple[Entry | None, list[tuple[Entry, Message]]]:
    """The last compaction, and what the model reads of the entries that it left or that came later."""
    compaction = next((entry for entry in reversed(entries) if entry.kind == "compaction"), None)
    payload = _payload(compaction)
    first = 0
    if compaction is not None and payload is not None:
        first = next((entry.seq for entry in entries if entry.id == payload.get("first_kept_id")), compaction.seq)
    return compaction, arranged([entry for entry in entries if entry.seq >= first] if first else entries)


def _payload(compaction: Entry | None) -> dict[str, Any] | None:
    return compaction.payload if compaction is not None and isinstance(compaction.payload, dict) else None


def _cuts(messages: Sequence[Message]) -> Iterator[int]:
    """The places where a history may be cut: before a message, and never between a call and its result."""
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        if number and not waiting and message.role != "tool":
            yield number
        waiting.update(call.id for call in message.calls)
        waiting.difference_update(part.call_id for part in message.parts if isinstance(part, ToolResultPart))


def _sizes_behind(messages: Sequence[Message]) -> list[int]:
    """For each message the characters from it to the end."""
    sizes: list[int] = []
    total = 0
    for message in reversed(messages):
        total += _size(message)
        sizes.append(total)
    return sizes[::-1] or [0]


def _size(message: Message) -> int:
    """About how many characters a message has, pictures as those that cost as much."""
    size = 0
    for part in message.parts:
        if isinstance(part, TextPart | ThinkingPart):
            size += len(part.text)
        elif isinstance(part, ToolCallPart):
            size += len(part.tool_id) + len(part.arguments)
        elif isinstance(part, ToolResultPart):
            size += len(part.text) + len(part.images) * IMAGE_TOKENS * CHARS_PER_TOKEN
        else:
            size += IMAGE_TOKENS * CHARS_PER_TOKEN
    return size


def _requests(entries: Sequence[Entry], first: int) -> list[str]:
    """What the person said before that entry, verbatim as far as there is room, the latest last."""
    said: list[str] = []
    room = MAX_REQUESTS_CHARS
    for entry in reversed(entries):
        message = entry.payload
        if entry.seq >= first or not isinstance(message, Message) or message.role != "user" or not message.text:
            continue
        text = shortened(message.text, MAX_REQUEST_CHARS)
        room -= len(text)
        if room < 0:
            break
        said.append(text)
    return said[::-1]


def _summary_message(payload: dict[str, Any], requests: list[str]) -> Message:
    """A summary of what was read from outside is from outside too; what the person said is not."""
    summary = payload["summary"]
    if payload.get("tainted"):
        summary = Fence(payload.get("fence")).around(summary)
    said = "\n".join(f"- {text}" for text in requests)
    return user_message(
        "The older part of this conversation was replaced by a summary.\n\n"
        f"What I said in it:\n{said or '- nothing'}\n\nThe summary:\n{summary}"
    )
