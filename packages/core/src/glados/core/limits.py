"""How much one run may use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from glados.core.results import Spent

N = TypeVar("N", int, float)


class LimitReached(Exception):
    """A bound that is reached in the middle of an answer, where the model would be asked again."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a run, checked before each model call; None is no bound.

    A cost that is not known counts as reached where a cost is bounded: nobody can say that it is not.
    """

    turns: int = 50
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def reached(self, spent: Spent, seconds: float = 0.0) -> str | None:
        """The name of the bound that is reached, if one is."""
        if spent.turns >= self.turns:
            return "max_turns"
        if self.input_tokens is not None and spent.usage.input_tokens >= self.input_tokens:
            return "max_input_tokens"
        if self.output_tokens is not None and spent.usage.output_tokens >= self.output_tokens:
            return "max_output_tokens"
        if self.cost is not None and (spent.cost is None or spent.cost >= self.cost):
            return "max_cost"
        if self.seconds is not None and seconds >= self.seconds:
            return "max_seconds"
        return None

    def within(self, outer: Limits, spent: Spent, seconds: float) -> Limits:
        """These limits, but no more than what `outer` has left after what was spent."""
        return replace(
            self,
            turns=min(self.turns, max(0, outer.turns - spent.turns)),
            input_tokens=_least(self.input_tokens, outer.input_tokens, spent.usage.input_tokens),
            output_tokens=_least(self.output_tokens, outer.output_tokens, spent.usage.output_tokens),
            cost=_least(self.cost, outer.cost, spent.cost or 0.0),
            seconds=_least(self.seconds, outer.seconds, seconds),
        )


def _least(own: N | None, outer: N | None, spent: N) -> N | None:
    """The smaller of a bound of one's own and what is left of the outer one."""
    bounds = [bound for bound in (own, outer - spent if outer is not None else None) if bound is not None]
    return max(min(bounds), type(bounds[0])(0)) if bounds else None
