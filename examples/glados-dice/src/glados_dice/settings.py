"""The plugin's settings: section [dice], or the environment variables DICE_…"""

from __future__ import annotations

from pydantic import BaseModel, Field


class DiceSettings(BaseModel):
    """What is rolled."""

    sides: int = Field(default=6, ge=2, le=1000, description="How many sides a die has.")
