from __future__ import annotations

import asyncio
from threading import Event

from pydantic import SecretStr
from sqlalchemy import inspect

from glados.database import DatabaseService, DatabaseSettings
from glados.database.migrations import Migrations
from glados.database.testing import open_database
from glados.database.urls import parse_url
from glados.web_fetch import WebFetchService, WebFetchSettings
from glados.web_fetch.plugin import WebFetchPlugin

TABLE = "web_fetch_allowed_domains"


async def columns(database: DatabaseService) -> dict[str, bool] | None:
    """The columns of the table and whether each may be empty; None where there is no table."""
    async with database.read() as session:
        connection = await session.connection()

        def read(sync: object) -> dict[str, bool] | None:
            inspector = inspect(sync)
            if not inspector.has_table(TABLE):
                return None
            return {column["name"]: column["nullable"] for column in inspector.get_columns(TABLE)}

        return await connection.run_sync(read)


async def test_the_table_comes_with_the_migration_and_goes_with_its_rollback(database_url: str) -> None:
    migrations = Migrations(parse_url(database_url), DatabaseSettings(url=SecretStr(database_url)))
    async with open_database(database_url, WebFetchPlugin) as database:
        found = await columns(database)
        assert found is not None
        assert list(found) == ["domain", "created_at"]
        assert found["created_at"] is False
    await asyncio.to_thread(migrations.rollback, WebFetchPlugin, ("web_fetch.2026-02-18-init",), Event())
    async with open_database(database_url) as database:
        assert await columns(database) is None
    async with open_database(database_url, WebFetchPlugin) as database:
        assert await WebFetchService(database, WebFetchSettings()).list_domains() == []
