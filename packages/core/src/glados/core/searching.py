"""What a search finds in a message and how good that is: the same in every store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from glados.core.messages import Message
from glados.core.sessions import Entry, Found

SNIPPET = 60  # characters on each side of what was found


def words_of(text: str) -> list[str]:
    """What a person looks for: words in lower case, each once."""
    return list(dict.fromkeys(text.lower().split()))


def searchable(payload: object) -> str:
    """The text in which an entry is found: prompts and answers have one, nothing else has."""
    return payload.text if isinstance(payload, Message) and payload.role != "tool" else ""


def hit(entry: Entry, title: str | None, words: Sequence[str]) -> tuple[int, Found] | None:
    """The entry as it was found, and how many of the words stand whole in it; None if it lacks one of them.

    A word may be a part of a longer one: not every language parts its words.
    """
    text, message = searchable(entry.payload), entry.payload
    lower = text.lower()
    if not text or not words or not isinstance(message, Message) or not all(word in lower for word in words):
        return None
    at = min(lower.find(words[0]), len(text))
    snippet = " ".join(text[max(at - SNIPPET, 0) : at + SNIPPET].split())
    whole = sum(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", lower) is not None for word in words)
    return whole, Found(entry.session_id, title, entry.id, entry.seq, message.role, snippet, entry.created_at)


def best(hits: Iterable[tuple[int, Found]], limit: int) -> list[Found]:
    """Those in which more words stand whole, and of equal ones the newest, as they come."""
    return [found for _, found in sorted(hits, key=lambda one: -one[0])[: max(limit, 0)]]
