"""The work that every contender does: a prompt says what the server answers, and one tool is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Literal

Kind = Literal["rounds", "drip", "wait"]
Run = Callable[[str], Awaitable[str]]
Open = Callable[[str], AbstractAsyncContextManager[Run]]  # the server's URL goes in

MODEL = "bench"
INSTRUCTIONS = "You look at pages."
DESCRIPTION = "Look at a page and return what is there."
CALLS = 4  # in one round
WORD = "word "  # of each chunk of text
RESULT = "A line of what the tool found on the page.\n" * 20


class Looks:
    """Counts the calls of the tool: who skips some must not win by it."""

    made = 0


def found() -> str:
    """What the tool finds, after some looking."""
    Looks.made += 1
    return RESULT


def prompt(kind: Kind, amount: int) -> str:
    """What a run is asked."""
    return f"bench-{kind}-{amount}"


async def checked(run: Run, kind: Kind, amount: int) -> None:
    """One run, and whether it did all of its work."""
    before = Looks.made
    text = await run(prompt(kind, amount))
    rounds = amount if kind == "rounds" else 0
    expected = f"done after {amount} rounds" if kind == "rounds" else WORD * amount
    assert text == expected, f"the answer to {kind} {amount} was {text[:200]!r}"
    assert Looks.made - before == CALLS * rounds, f"{Looks.made - before} calls were made in {rounds} rounds"
