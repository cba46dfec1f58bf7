"""The section `[glados]`: where glados keeps its data, what it is told, and how much it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


def _platform() -> Any:
    from platformdirs import PlatformDirs  # an import that most programs need only here

    return PlatformDirs("glados")


class GladosSettings(BaseModel):
    """Where glados keeps its data and how much it says."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

    data_dir: Path = Field(
        default_factory=lambda: _platform().user_data_path,
        description="The folder of the database and the token; by default the platform's folder for user data.",
    )
    instructions: Path = Field(
        default_factory=lambda: _platform().user_config_path / "AGENTS.md",
        description="Your own instructions to the agent; by default AGENTS.md in the platform's config directory.",
    )
    trusted_workspaces: list[Path] = Field(
        default_factory=list[Path],
        description="Folders whose AGENTS.md, and those below them, the agent follows; name only what you trust.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="How much the log says: debug, info, warning or error."
    )

    @field_validator("data_dir", "instructions")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()
