"""Facts about a tool's result besides the result: what was cut, where it is from, which limit it met.

Tools attach them as values; the notice that the model reads is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

MAX_NOTES = 20  # of one call
MAX_WORDS = 500  # characters of an address, a path or a name in a notice


@dataclass(frozen=True, slots=True)
class Truncation:
    """Only a part is shown: from `offset` on, so many of a total, and where one can read on."""

    shown: int
    total: int | None = None
    unit: Literal["characters", "lines", "items", "bytes"] = "characters"
    offset: int = 0
    next_offset: int | None = None
    artifact_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON."""
        return {"type": "truncation", **{name: getattr(self, name) for name in self.__slots__}}

    def notice(self) -> str:
        """The fact in a sentence."""
        total = f" of {self.total}" if self.total is not None else ""
        shown = f"{self.shown}{total}" if not self.offset else f"{self.offset} to {self.offset + self.shown}{total}"
        return f"cut: {shown} {self.unit} are shown{self._way_on()}"

    def _way_on(self) -> str:
        if self.next_offset is None:
            return ""
        if self.artifact_id is not None:
            return f'; read on with artifacts.read {{"id": "{self.artifact_id}", "offset": {self.next_offset}}}'
        return f"; read on from offset {self.next_offset}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the content is from: an address or a path, as it was found in the end."""

    url: str | None = None
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON."""
        return {"type": "source", "url": self.url, "path": self.path}

    def notice(self) -> str:
        """The fact in a sentence."""
        return f"source: {_in_a_line(self.url or self.path or 'unknown')}"


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that the call met, and the setting that changes it: `Limit("matches", 100, "GREP_MAX_MATCHES")`."""

    what: str
    value: float
    setting: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON."""
        return {"type": "limit", "what": self.what, "value": self.value, "setting": self.setting}

    def notice(self) -> str:
        """The fact in a sentence."""
        setting = f" ({_in_a_line(self.setting)})" if self.setting else ""
        return f"limit: {self.value:.15g} {_in_a_line(self.what)}{setting}"


Note = Truncation | Source | Limit


def render(notes: Iterable[Note]) -> str:
    """The one line that the model reads behind a result; nothing for no notes."""
    told = ". ".join(note.notice() for note in notes)
    return f"[{told}]" if told else ""


def _in_a_line(text: str) -> str:
    return " ".join(text.split())[:MAX_WORDS]
