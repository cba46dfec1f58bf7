"""Which model answers, how much it thinks and what it costs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from glados.core.model import Thinking
from glados.core.prices import Price

ApiChoice = Literal["auto", "responses", "chat"]


class ModelSettings(BaseModel):
    """Which model answers, and how far it may go."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

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
    tries: int = Field(default=4, ge=1, le=20, description="Calls of one model for one answer, when its service fails.")
    first_pause: float = Field(
        default=0.5, ge=0, le=60, description="Seconds before the second of these calls; it doubles from call to call."
    )
    context_tokens: int = Field(
        default=128_000, ge=4_000, description="Tokens that the model can read at once; older turns are summarised."
    )
    compact_at: float = Field(
        default=0.8, ge=0.1, le=1.0, description="The share of context_tokens at which older turns are summarised."
    )
    max_turns: int = Field(default=50, ge=1, le=10_000, description="Model calls that one run may make.")
    max_input_tokens: int | None = Field(
        default=None, ge=1, description="Tokens that one run may send; by default any."
    )
    max_output_tokens: int | None = Field(
        default=None, ge=1, description="Tokens that one run may have written; by default any."
    )
    max_cost: float | None = Field(
        default=None, gt=0, description="US dollars that one run may cost; a cost that is not known counts as reached."
    )
    max_seconds: float | None = Field(default=None, gt=0, description="Seconds that one run may work; by default any.")
    max_depth: int = Field(default=3, ge=0, le=10, description="How deep agents may call agents.")
    max_resumed: int = Field(
        default=3, ge=0, le=100, description="Times that one run goes on after its process died; then it is closed."
    )
    max_children: int = Field(default=20, ge=0, le=1000, description="Child runs that one run may have in all.")


class OpenAISettings(BaseModel):
    """Where an OpenAI-compatible model is; with neither key nor URL the offline model answers."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

    api_key: SecretStr | None = Field(default=None, description="The key of the model's service.")
    base_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+",
        description="The address of the service, with http:// or https://; a URL alone needs no key.",
    )
