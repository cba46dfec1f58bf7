"""Whether untrusted content stands in a branch of a session: computed from its entries, each read once."""

from __future__ import annotations

from collections.abc import Iterable

from glados.core.messages import Message, ToolResultPart
from glados.core.sessions import Draft, Entry


class Taint:
    """What a branch inherits from its entries; it is never clean again, because what was read stays read.

    Call it to ask. A result carries the mark itself; an artifact, a summary and whatever else came of untrusted
    content says `"tainted": True` in its payload.
    """

    __slots__ = ("_tainted",)

    def __init__(self, entries: Iterable[Entry | Draft] = (), *, tainted: bool = False) -> None:
        self._tainted = tainted
        self.read(entries)

    def __call__(self) -> bool:
        return self._tainted

    def read(self, entries: Iterable[Entry | Draft]) -> bool:
        """Take in entries that are new on the branch; says whether it is tainted now."""
        if not self._tainted:
            self._tainted = any(_taints(entry.payload) for entry in entries)
        return self._tainted


def _taints(payload: Message | dict[str, object]) -> bool:
    if not isinstance(payload, Message):
        return payload.get("tainted") is True
    return any(isinstance(part, ToolResultPart) and part.untrusted for part in payload.parts)
