"""Tool ids as model APIs allow them: at most 64 letters, digits, dashes and underscores, there and back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_HASHED_MARK = "___"


def wire_name(tool_id: str) -> str:
    """The name of a tool on the wire: `web-fetch.fetch` is `web-fetch__fetch`.

    An id for which that is ambiguous, refused or too long ends in its hash instead, after a mark that no other
    name contains: two ids never share a name.
    """
    name = tool_id.replace(".", "__")
    if _PLAIN.fullmatch(name) and _HASHED_MARK not in name and name.replace("__", ".") == tool_id:
        return name
    digest = hashlib.sha256(tool_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_REFUSED.sub('-', tool_id)[:45].rstrip('_')}{_HASHED_MARK}{digest}"


class ToolNames:
    """The names of the tools of one request."""

    __slots__ = ("_ids", "_mention")

    def __init__(self, tool_ids: Iterable[str]) -> None:
        self._ids = {wire_name(tool_id): tool_id for tool_id in tool_ids}
        renamed = sorted((tool_id for name, tool_id in self._ids.items() if name != tool_id), key=len, reverse=True)
        # A whole word: not inside a longer id, a path or a host name; the full stop of a sentence may follow.
        words = "|".join(map(re.escape, renamed))
        self._mention = re.compile(rf"(?<![\w.-])(?<!//)(?:{words})(?![\w-]|\.\w)") if renamed else None

    def tool_id(self, name: str) -> str:
        """The id behind a name; a name that was never given out stays as it is."""
        return self._ids.get(name, name)

    def rewrite(self, text: str) -> str:
        """The text with every mention of a tool's id replaced by its name on the wire."""
        if self._mention is None:
            return text
        return self._mention.sub(lambda match: wire_name(match[0]), text)
