"""For tests of plugins with tables: a database that is there for one test, on SQLite and on PostgreSQL.

The fixtures `database_url` and `database` come with the package, as a pytest plugin.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from glados.core import Plugin
from glados.database.migrator import SqlMigrator
from glados.database.postgres import INSTALL, PostgresServer, find_binaries, run_server
from glados.database.service import DatabaseService
from glados.database.settings import DatabaseSettings
from glados.database.urls import parse_url

__all__ = ["INSTALL", "PostgresServer", "find_binaries", "open_database", "run_server"]


@asynccontextmanager
async def open_database(url: str, *plugins: type[Plugin[Any]], **settings: Any) -> AsyncGenerator[DatabaseService]:
    """A started service on the database at `url`, with the migrations of `plugins` applied.

    `settings` are fields of DatabaseSettings, such as `pool_size=1`.
    """
    values = DatabaseSettings(url=SecretStr(url), **settings)
    location = parse_url(url)
    async with DatabaseService.open(location, values) as database:
        migrator = SqlMigrator(location, values)
        for plugin in plugins:
            await migrator.apply(plugin)
        yield database
