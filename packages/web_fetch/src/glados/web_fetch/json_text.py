"""JSON as people write it, on many lines."""

from __future__ import annotations

import json

# Indenting what is nested deeply can make it many times as long, and nobody reads that.
MAX_GROWTH = 3
MIN_LIMIT = 100_000


def formatted_json(text: str) -> str:
    """JSON on many lines; what is no JSON, or would become too long, stays as it is."""
    limit = max(MIN_LIMIT, MAX_GROWTH * len(text))
    pieces: list[str] = []
    try:
        for piece in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text)):
            pieces.append(piece)
            limit -= len(piece)
            if limit < 0:
                return text
    except (ValueError, RecursionError):
        return text
    return "".join(pieces)
