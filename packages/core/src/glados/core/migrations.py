"""The seam to whoever keeps plugins' tables: core asks, the database plugin does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from glados.core.plugins import Plugin


class Migrator(Protocol):
    """Brings the tables of one plugin to the version that its code needs."""

    async def apply(self, plugin: type[Plugin[Any]]) -> None:
        """Apply what is missing; raise a MigrationError that says what to do, with nothing half done."""
        ...
