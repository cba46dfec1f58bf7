"""What a feature's own command gets to work with: the settings and the plugins, discovered but not started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glados.core.plugins import Plugin, PluginRecord
from glados.core.settings import Settings


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The context object of commands in the entry-point group `glados.commands`."""

    settings: Settings
    plugins: list[Plugin[Any]]
    records: list[PluginRecord]
    data_dir: Path

    @property
    def failed(self) -> list[PluginRecord]:
        """The plugins that could not be loaded, with the reason."""
        return [record for record in self.records if record.state == "failed"]
