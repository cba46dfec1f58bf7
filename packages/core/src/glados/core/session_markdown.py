"""A session as Markdown, for people to read and keep: what was said on its current branch, and what tools did."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import AsyncIterator, Iterator, Sequence

from glados.core.cutting import shortened
from glados.core.messages import ImagePart, Message, Part, TextPart, ToolCallPart, ToolResultPart, well_formed
from glados.core.outcomes import content
from glados.core.sessions import Entry, Session, SessionStore

MAX_RESULT_CHARS = 2_000
MAX_ARGUMENTS_CHARS = 1_000
FROM_OUTSIDE = "untrusted: read from outside"
_SPEAKERS = {"user": "You", "assistant": "glados"}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_HARMLESS = "\n\t\u200c\u200d"  # joiners belong to scripts and to pictures
_TICKS = re.compile("`+")


async def markdown(store: SessionStore, session: Session) -> AsyncIterator[str]:
    """The session and those below it, one after the other, in pieces."""
    waiting = [session]
    while waiting:
        current = waiting.pop()
        for piece in rendered(current, await store.branch(current.id)):
            yield piece
        waiting += reversed(await store.children(current.id))


def rendered(session: Session, branch: Sequence[Entry]) -> Iterator[str]:
    """One session, paragraph by paragraph."""
    yield f"# {_in_a_line(session.title or f'Session {session.id}')}\n\n"
    yield f"{_facts(session)}\n\n"
    speaker = None
    for entry in branch:
        payload = entry.payload
        if isinstance(payload, Message):
            says = _SPEAKERS.get(payload.role, speaker)
            if says != speaker and says is not None:
                yield f"## {says}\n\n"
            speaker = says
            yield from (f"{shown}\n\n" for part in payload.parts if (shown := _part(part)))
        elif entry.kind == "compaction":
            mark = f" ({FROM_OUTSIDE})" if payload.get("tainted") else ""
            yield f"**Older turns were summarised here**{mark}\n\n{_block(str(payload.get('summary', '')))}\n\n"
        elif entry.kind == "run_end" and payload.get("stop") != "end":
            yield f"*The run ended: {_in_a_line(str(payload.get('stop')))}.*\n\n"


def visible(text: str) -> str:
    """Text with every control and formatting character spelled out: it must look like what it says."""
    text = well_formed(text)
    if text.isprintable():
        return text
    return "".join(
        c if c in _HARMLESS or unicodedata.category(c) not in _UNSEEN else c.encode("unicode_escape").decode()
        for c in text.replace("\r\n", "\n")
    )


def _facts(session: Session) -> str:
    usage = session.usage
    facts = [
        f"session {session.id}",
        f"begun {session.created_at}",
        f"last worked in {session.updated_at}",
        f"{usage.input_tokens} tokens in, {usage.output_tokens} out",
        f"${session.cost:.4f}" if session.cost is not None else "price unknown",
    ]
    if session.tags:
        facts.append(f"tags: {', '.join(session.tags)}")
    if session.parent_id is not None:
        facts.append(f"started by an agent in {session.parent_id}")
    if session.tainted:
        facts.append("its history came from outside")
    return "\n".join(f"- {_in_a_line(fact)}" for fact in facts)


def _part(part: Part) -> str | None:
    """What one part says; thoughts are left out, because what came of them follows."""
    match part:
        case TextPart(text=text):
            return visible(text).strip() or None
        case ImagePart():
            return "*[a picture]*"
        case ToolCallPart():
            return f"**Call** {_code(part.tool_id)}\n\n{_block(shortened(part.arguments, MAX_ARGUMENTS_CHARS))}"
        case ToolResultPart():
            marks = [mark for mark in (f"error {part.code}" if part.is_error else "", _origin(part)) if mark]
            told = f" ({', '.join(map(_in_a_line, marks))})" if marks else ""
            text = _block(shortened(content(part), MAX_RESULT_CHARS))
            return f"**Result** of {_code(part.tool_id)}{told}\n\n{text}"
        case _:
            return None


def _origin(part: ToolResultPart) -> str:
    return FROM_OUTSIDE if part.untrusted else ""


def _block(text: str) -> str:
    """A block of code that its content cannot end: its fence is longer than any run of backticks inside."""
    text = visible(text).strip("\n")
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _code(text: str) -> str:
    return f"`{_in_a_line(text).replace('`', '')}`"


def _in_a_line(text: str) -> str:
    return visible(" ".join(text.split()))
