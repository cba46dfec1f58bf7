"""How much one run may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a run, checked before each model call."""

    turns: int = 50

    def reached(self, *, turns: int) -> str | None:
        """The name of the bound that is reached, if one is."""
        return "max_turns" if turns >= self.turns else None
