"""Where a text that is too long is cut: behind a line if one ends near the limit, else behind a word."""

from __future__ import annotations

_NEAR = (("\n", 3), (" ", 2))  # the end of a line in the last third is near enough, or that of a word in the last half


def boundary(text: str, start: int, limit: int) -> int:
    """The end of the piece that begins at `start` and has at most `limit` characters."""
    end = start + limit
    if end >= len(text):
        return len(text)
    for mark, share in _NEAR:
        found = text.rfind(mark, end - limit // share, end)
        if found >= 0:
            return found + 1
    return end


def shortened(text: str, limit: int, what: str = "characters are left out") -> str:
    """The text, or its beginning with a mark that says how much of it is left out."""
    if len(text) <= limit:
        return text
    end = boundary(text, 0, limit)
    return f"{text[:end].rstrip()}\n[… {len(text) - end} {what}]"
