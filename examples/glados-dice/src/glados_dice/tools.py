"""The plugin's tools: thin, because the service does the work."""

from __future__ import annotations

from glados.core import ToolContext, tool
from pydantic import BaseModel, Field

from glados_dice.service import DiceService


class RollInput(BaseModel):
    """How many dice."""

    count: int = Field(default=1, ge=1, le=100, description="How many dice to roll.")


class RollOutput(BaseModel):
    """What came up."""

    rolls: list[int]


# It adds rows, so it is not read-only; it takes nothing away, so it is not destructive; a second call is a second roll,
# so it is not idempotent. It is not concurrent either: a history asked for right after it has to show it.
@tool("dice.roll", destructive=False, open_world=False)
async def roll(input: RollInput, ctx: ToolContext) -> RollOutput:
    """Roll dice and return each result."""
    return RollOutput(rolls=await ctx.services.get(DiceService).roll(input.count))


class HistoryInput(BaseModel):
    """How far back."""

    limit: int = Field(default=10, ge=1, le=100, description="How many results to return at most.")


class PastResult(BaseModel):
    """One die that was rolled."""

    result: int
    sides: int
    rolled_at: str


class HistoryOutput(BaseModel):
    """What came up, the newest roll first."""

    results: list[PastResult]


@tool("dice.history", read_only=True, concurrent=True, open_world=False)
async def history(input: HistoryInput, ctx: ToolContext) -> HistoryOutput:
    """Return the latest dice results, the newest roll first."""
    rows = await ctx.services.get(DiceService).history(input.limit)
    return HistoryOutput(results=[PastResult.model_validate(row, from_attributes=True) for row in rows])
