"""A run's memory of its conversation: how full the model's context is, and what happens when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glados.core import compaction
from glados.core.errors import ModelError
from glados.core.journal import Journal
from glados.core.messages import Usage
from glados.core.model import Model, ModelDone, ModelRequest, TextDelta
from glados.core.sessions import Draft


@dataclass(frozen=True, slots=True)
class Window:
    """How much the model can read at once, at which share older turns are summarised, and by whom."""

    tokens: int
    compact_at: float
    small: Model


class Memory:
    """Watches the size of the prompt, and replaces the older part of the history by a summary."""

    def __init__(self, journal: Journal, window: Window, fixed_chars: int) -> None:
        self.used = Usage()
        self.model: str | None = None
        self._journal = journal
        self._window = window
        self._fixed_chars = fixed_chars
        self._usage: Usage | None = None
        self._known = 0

    def answered(self, usage: Usage | None) -> None:
        """After a model call: what it has read is known exactly; its answer is the next message."""
        self._usage, self._known = usage, len(self._journal.messages) + 1

    @property
    def due(self) -> bool:
        """Whether older turns should be summarised before the next call."""
        return compaction.due(self._tokens(), self._window.tokens, self._window.compact_at)

    async def compact(self) -> dict[str, Any] | None:
        """Summarise the older turns; the payload of the entry, or None if there is nothing to summarise."""
        journal, window = self._journal, self._window
        payload = await compaction.compact(
            journal.entries,
            self._summarise,
            tokens_before=self._tokens(),
            context_tokens=window.tokens,
            model=window.small.name,
        )
        if payload is None:
            return None
        await journal.record(Draft("compaction", payload, journal.run_id))
        journal.messages = compaction.history(journal.entries)
        self._usage, self._known = None, 0
        return payload

    def _tokens(self) -> int:
        return compaction.estimate(self._journal.messages, self._usage, self._known, self._fixed_chars)

    async def _summarise(self, request: ModelRequest) -> str:
        text: list[str] = []
        done: ModelDone | None = None
        async for delta in self._window.small.stream(request):
            if isinstance(delta, TextDelta):
                text.append(delta.text)
            elif isinstance(delta, ModelDone):
                done = delta
        if done is None:
            raise ModelError("The summary of the conversation ended before it was complete: try again.")
        self.used, self.model = done.usage or Usage(), done.model
        return "".join(text)
