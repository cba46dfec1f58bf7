"""What to do when a model call fails: wait and ask again, ask another model, or give up."""

from __future__ import annotations

import random
from dataclasses import dataclass

from glados.core.errors import ModelError

TRIES = 4  # calls of one model for one answer
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LONGEST_WAIT = 120.0  # a service that wants us to wait longer is as good as down


class EmptyAnswer(ModelError):
    """The model said nothing at all."""

    code = "model_empty_answer"
    retryable = True


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask the same model again after some seconds."""

    delay: float


class Patience:
    """Counts the failures of one answer and says how long to wait for the next try."""

    def __init__(self, tries: int = TRIES, first_pause: float = FIRST_PAUSE) -> None:
        self._tries = tries
        self._first_pause = first_pause
        self._failures = 0

    def next(self, error: ModelError) -> Retry | None:
        """The next try, or None when this model is given up."""
        self._failures += 1
        if not error.retryable or self._failures >= self._tries:
            return None
        wanted = error.data.get("retry_after")
        if isinstance(wanted, int | float):
            return Retry(float(wanted)) if wanted <= LONGEST_WAIT else None
        longest = min(LONGEST_PAUSE, self._first_pause * 2 ** (self._failures - 1))
        return Retry(random.uniform(longest / 2, longest))
