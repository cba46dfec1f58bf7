"""Which model answers."""

from __future__ import annotations

from pydantic import BaseModel, Field, SecretStr


class ModelSettings(BaseModel):
    """Which model answers, and how far it may go."""

    normal: str | None = Field(
        default=None, description="The name of the model; with a base URL alone its first model is taken."
    )
    max_turns: int = Field(default=50, ge=1, le=10_000, description="Model calls that one run may make.")


class OpenAISettings(BaseModel):
    """Where an OpenAI-compatible model is; with neither key nor URL the offline model answers."""

    api_key: SecretStr | None = Field(default=None, description="The key of the model's service.")
    base_url: str | None = Field(default=None, description="The address of the service; a URL alone needs no key.")
