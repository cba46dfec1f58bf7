"""JSON as people write it, on many lines; every number, name and order stays as it came."""

from __future__ import annotations

import json
import re

# Indenting what is nested deeply can make it many times as long, and nobody reads that.
MAX_GROWTH = 3
MIN_LIMIT = 100_000
_INDENT = "  "
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)


def formatted_json(text: str) -> str:
    """JSON on many lines; what is no JSON, or would become too long, stays as it is."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _indented(text, max(MIN_LIMIT, MAX_GROWTH * len(text))) or text


def _indented(text: str, limit: int) -> str | None:
    """The tokens with other white space: read as values, numbers would lose digits, and repeated names their values."""
    pieces, line, is_open = list[str](), "\n", False
    for match in _TOKEN.finditer(text):
        word = match[0]
        if word in "]}":
            line = line.removesuffix(_INDENT)
            piece = word if is_open else line + word
        elif word == ",":
            piece = word + line
        elif word == ":":
            piece = ": "
        else:
            piece = (line if is_open else "") + _readable(word)
        is_open = word in "[{"
        if is_open:
            line += _INDENT
        pieces.append(piece)
        limit -= len(piece)
        if limit < 0:
            return None
    return "".join(pieces)


def _readable(word: str) -> str:
    """A string with its letters in place of escapes."""
    return json.dumps(json.loads(word), ensure_ascii=False) if word[0] == '"' and "\\" in word else word
