"""Which model answers, how much it thinks and what it costs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from glados.core.model import Thinking
from glados.core.prices import Price

ApiChoice = Literal["auto", "responses", "chat"]


class ModelSettings(BaseModel):
    """Which model answers, and how far it may go."""

    normal: str | None = Field(
        default=None, description="The name of the model; with a base URL alone its first model is taken."
    )
    high: str | None = Field(default=None, description="The model for hard work; by default the normal one.")
    small: str | None = Field(
        default=None, description="The model for small work such as summaries; by default the normal one."
    )
    fallback: str | None = Field(
        default=None, description="The model that goes on when the normal one's service keeps failing; by default none."
    )
    thinking: Thinking | None = Field(
        default=None, description="How much the model thinks: off, low, medium or high; by default as it likes."
    )
    api: ApiChoice = Field(
        default="auto",
        description="OpenAI's API that the service speaks: responses, chat, or auto, which is responses at OpenAI and "
        "chat elsewhere, and the other one where that is not found.",
    )
    prices: dict[str, Price] = Field(
        default_factory=dict[str, Price],
        description="US dollars per million tokens of models that glados does not know, or that cost you something "
        'else: {"my-model": {"input": 1.0, "cached": 0.1, "output": 3.0}}.',
    )
    max_turns: int = Field(default=50, ge=1, le=10_000, description="Model calls that one run may make.")


class OpenAISettings(BaseModel):
    """Where an OpenAI-compatible model is; with neither key nor URL the offline model answers."""

    api_key: SecretStr | None = Field(default=None, description="The key of the model's service.")
    base_url: str | None = Field(default=None, description="The address of the service; a URL alone needs no key.")
