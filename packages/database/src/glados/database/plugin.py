"""The database as a plugin: it provides the service, and applies the migrations of the others."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from glados.core import GladosSettings, Migrator, Plugin, Services, hookimpl
from glados.database.migrator import SqlMigrator
from glados.database.service import DatabaseService
from glados.database.settings import DatabaseSettings


class DatabasePlugin(Plugin[DatabaseSettings]):
    """One database for all plugins: SQLite in the data directory, or PostgreSQL."""

    id = "database"

    @hookimpl
    async def setup(self, services: Services) -> None:
        """Provide the service and the migrator of the database that the settings name."""
        settings = self.settings
        url = settings.location(services.get(GladosSettings).data_dir)

        @asynccontextmanager
        async def open_database() -> AsyncGenerator[DatabaseService]:
            async with DatabaseService.open(url, settings) as database:
                yield database

        services.provide(DatabaseService, open_database)
        services.provide(Migrator, lambda: SqlMigrator(url, settings))
