"""The system prompt: named parts in an order that never changes, those that change most often last.

Services cache a prompt by its first bytes, so the same parts have to give the same bytes from call to call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from glados.core.cutting import shortened
from glados.core.fences import MEANING
from glados.core.messages import well_formed
from glados.core.workspaces import InstructionFiles, Workspace

MAX_ITEM_CHARS = 16_000  # of one context item of a plugin
MAX_PLUGIN_CHARS = 64_000  # of all of them together
MAX_PROJECT_CHARS = 64_000  # of all instructions of a workspace together


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the system prompt."""

    name: str
    text: str


class Context:
    """Assembles system prompts; what it reads from files it keeps until they change."""

    def __init__(self, user_file: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._user_file = user_file
        self._files = InstructionFiles()
        self._clock = clock
        self._date: tuple[float, Part] | None = None
        self._last: tuple[tuple[str, ...], str] = ((), "")

    def parts(
        self, base: str, items: Iterable[tuple[str, str]] = (), workspace: Workspace | None = None
    ) -> tuple[Part, ...]:
        """The parts: base, delimiter, items of plugins (id and text), the user's file, the project's files, the date.

        More specific instructions stand behind more general ones, so that they have the last word.
        """
        return (
            Part("base", base),
            Part("untrusted", MEANING),
            *_plugin_parts(items),
            *self._user_part(),
            *self._project_parts(workspace),
            self._date_part(),
        )

    def system(self, base: str, items: Iterable[tuple[str, str]] = (), workspace: Workspace | None = None) -> str:
        """The system prompt of one run; runs with the same parts share one text."""
        texts = tuple(part.text for part in self.parts(base, items, workspace) if part.text)
        if texts != self._last[0]:
            self._last = (texts, "\n\n".join(texts))
        return self._last[1]

    def _user_part(self) -> Iterable[Part]:
        text = self._files.text(self._user_file) if self._user_file is not None else ""
        if text:
            yield Part("user", f"The user's own instructions:\n\n{text}")

    def _project_parts(self, workspace: Workspace | None) -> Iterable[Part]:
        left = MAX_PROJECT_CHARS
        kept: list[Part] = []
        for path, text in reversed(self._files.of(workspace)):  # the nearest counts most, so it comes first to the room
            if left <= 0:
                break
            text = shortened(text, left, f"characters of {path.name} are left out")
            left -= len(text)
            kept.append(Part(f"project:{path}", f"Instructions of the project, from {path}:\n\n{text}"))
        return reversed(kept)

    def _date_part(self) -> Part:
        """Today's date where we are, worked out anew after midnight."""
        now = self._clock()
        if self._date is None or now >= self._date[0]:
            today = time.localtime(now)
            midnight = time.mktime((today.tm_year, today.tm_mon, today.tm_mday + 1, 0, 0, 0, 0, 0, -1))
            self._date = (midnight, Part("date", f"Today is {time.strftime('%Y-%m-%d', today)}."))
        return self._date[1]


def _plugin_parts(items: Iterable[tuple[str, str]]) -> Iterable[Part]:
    left = MAX_PLUGIN_CHARS
    for plugin_id, text in items:
        if not left:
            break
        text = shortened(well_formed(text), min(MAX_ITEM_CHARS, left))
        left = max(left - len(text), 0)
        yield Part(f"plugin:{plugin_id}", text)
