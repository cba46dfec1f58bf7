"""The plugin's table; its name begins with the plugin's section."""

from __future__ import annotations

from sqlmodel import Field, SQLModel


class DiceRoll(SQLModel, table=True):
    """One die of one roll."""

    __tablename__ = "dice_rolls"  # pyright: ignore[reportAssignmentType]

    roll_id: str = Field(primary_key=True, max_length=32)
    position: int = Field(primary_key=True)
    sides: int
    result: int
    rolled_at: str = Field(max_length=32)
