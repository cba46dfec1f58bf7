"""Where a long page is cut: its pieces together are the whole, and none ends inside what belongs together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from glados.core.cutting import boundary

# How far around a cut its neighbourhood is looked at: a longer link is cut like any other text.
NEAR = 4096
LONGEST_CHARACTER = 64
# A quotation mark inside a JSON string is escaped, so this stands between two links and nowhere else.
_BETWEEN_LINKS = '}, {"text": "'
_BEHIND_LINK = len("}")
_BEFORE_LINK = len("}, ")
_MARKUP = re.compile(r"\\.|[\[\]()<>]", re.DOTALL)
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)[^<>\s]*>", re.IGNORECASE)
_JOINER = "\N{ZERO WIDTH JOINER}"
_FLAG_LETTERS = "".join(chr(point) for point in range(0x1F1E6, 0x1F200))
# Skin tones, tags of flags, and the vowels and final consonants of Korean syllables.
_EXTENDING = (("\U0001f3fb", "\U0001f3ff"), ("\U000e0020", "\U000e007f"), ("\u1160", "\u11ff"))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a page, and where the next one begins; None behind the last."""

    content: str
    next_offset: int | None


def cut_text(text: str, offset: int, limit: int) -> Piece:
    """The piece of at most `limit` characters that begins at the offset.

    It ends behind a line or a word where one is near, never inside a link or between the parts of one character, unless
    that alone is longer than the limit.
    """
    end = boundary(text, offset, limit)
    if end >= len(text):
        return Piece(text[offset:], None)
    end = _outside_links(text, offset, end, offset + limit)
    end = _outside_character(text, offset, end)
    return Piece(text[offset:end], end)


def cut_links(text: str, offset: int, limit: int) -> Piece:
    """The same for a JSON array of links: every piece is such an array, of at least one link."""
    start, close = _first_link(text, offset), len(text) - 1
    room = max(limit - len("[]"), 0)
    if close - start <= room:
        return Piece(f"[{text[start:close]}]", None)
    found = text.rfind(_BETWEEN_LINKS, start, start + room - _BEHIND_LINK + len(_BETWEEN_LINKS))
    if found < 0:  # the first link alone is too long
        found = text.find(_BETWEEN_LINKS, start)
    if found < 0:
        return Piece(f"[{text[start:close]}]", None)
    return Piece(f"[{text[start : found + _BEHIND_LINK]}]", found + _BEFORE_LINK)


def _first_link(text: str, offset: int) -> int:
    """Where the first link begins that is not before the offset."""
    if offset <= 1:
        return 1
    found = text.find(_BETWEEN_LINKS, offset - _BEFORE_LINK)
    return len(text) - 1 if found < 0 else found + _BEFORE_LINK


def _outside_links(text: str, start: int, end: int, last: int) -> int:
    """The cut itself, or a place before or behind the link that it would go through; `last` is the furthest one."""
    low, high = max(start, end - NEAR), min(len(text), end + NEAR)
    spans = list(_links(text, low, high))
    opening = end
    while around := [span for span in spans if span[0] < opening < span[1]]:
        opening = min(span[0] for span in around)
    if opening > start:
        return opening
    closing = max((span[1] for span in spans if span[0] <= start and span[1] > end), default=end)
    return closing if closing <= last else end


def _links(text: str, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Links, images and bare addresses between two places, read in one pass however they are nested."""
    opened: list[int] = []
    closed: tuple[int, int] | None = None  # the brackets that have just been closed: a link if "(" follows
    targets: list[tuple[int, int]] = []  # where the link begins, and its "("
    for match in _MARKUP.finditer(text, low, high):
        mark, place = match[0], match.start()
        if mark == "[":
            opened.append(place)
        elif mark == "]" and opened:
            closed = (opened.pop(), place)
            continue
        elif mark == "(":
            is_target = closed is not None and closed[1] == place - 1
            targets.append((closed[0] if closed is not None and is_target else -1, place))
        elif mark == ")" and targets:
            first, _ = targets.pop()
            if first >= 0:
                yield (first - 1 if first > low and text[first - 1] == "!" else first), place + 1
        elif mark == "<" and (address := _AUTOLINK.match(text, place, high)):
            yield place, address.end()
        closed = None


def _outside_character(text: str, start: int, end: int) -> int:
    """The cut itself, or the place before the character that it would take apart."""
    for cut in range(end, max(start, end - LONGEST_CHARACTER), -1):
        if not _belongs_together(text, start, cut):
            return cut
    return end


def _belongs_together(text: str, start: int, cut: int) -> bool:
    before, behind = text[cut - 1], text[cut]
    if before == _JOINER or (before == "\r" and behind == "\n"):
        return True
    if before in _FLAG_LETTERS and behind in _FLAG_LETTERS:
        piece = text[start:cut]
        return (len(piece) - len(piece.rstrip(_FLAG_LETTERS))) % 2 == 1  # two letters are a flag
    return _extends(behind)


def _extends(character: str) -> bool:
    """Whether a character is seen as part of the one before it."""
    if character < "\u0300":
        return False
    if unicodedata.category(character) in ("Mn", "Me", "Mc") or character == _JOINER:
        return True
    return any(first <= character <= last for first, last in _EXTENDING)
