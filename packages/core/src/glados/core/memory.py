"""A run's memory of its conversation: how full the model's context is, and what happens when it is full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glados.core import compaction
from glados.core.errors import GladosError, ModelError
from glados.core.foreign import failure
from glados.core.journal import Journal
from glados.core.messages import Usage
from glados.core.model import Model, ModelDone, ModelRequest, TextDelta
from glados.core.sessions import Charge, Draft

WORTH_IT = 16  # messages that take less than this share of the context are not worth a summary


@dataclass(frozen=True, slots=True)
class Window:
    """How much the model can read at once, at which share older turns are summarised, and by whom."""

    tokens: int
    compact_at: float
    small: Model


class Memory:
    """Watches the size of the prompt, and replaces the older part of the history by a summary."""

    def __init__(
        self, journal: Journal, window: Window, fixed_chars: int, spend: Callable[[str, Usage | None], Charge]
    ) -> None:
        self._journal = journal
        self._spend = spend
        self._window = window
        self._fixed_chars = fixed_chars
        self._usage: Usage | None = None
        self._known = 0

    def answered(self, usage: Usage | None) -> None:
        """After a model call: what it has read is known exactly; its answer is the next message."""
        self._usage, self._known = usage, len(self._journal.messages) + 1

    def take_up(self, usage: Usage | None) -> None:
        """After a crash: what the last answer of the history has read and written."""
        numbers = [number for number, message in enumerate(self._journal.messages) if message.role == "assistant"]
        self._usage, self._known = usage, numbers[-1] + 1 if numbers else 0

    @property
    def due(self) -> bool:
        """Whether older turns should be summarised before the next call."""
        window = self._window
        if not compaction.due(self._tokens(), window.tokens, window.compact_at):
            return False
        # Where system prompt and tools fill the context, a summary of a few messages would only cost, every turn.
        return compaction.estimate(self._journal.messages) >= window.tokens // WORTH_IT

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
        small = self._window.small
        try:
            async for delta in small.stream(request):
                if isinstance(delta, TextDelta):
                    text.append(delta.text)
                elif isinstance(delta, ModelDone):
                    done = delta
        except GladosError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(failure(f"The model {small.name!r}", error).message) from error
        finally:
            if done is not None or text:  # a summary that was cut has its price, which nobody tells us
                spent = self._spend(done.model, done.usage) if done is not None else self._spend(small.name, None)
                self._journal.owe(spent)
        if done is None:
            raise ModelError("The summary of the conversation ended before it was complete: try again.")
        return "".join(text)
