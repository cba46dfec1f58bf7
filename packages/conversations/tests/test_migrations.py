from __future__ import annotations

import asyncio
from threading import Event

from pydantic import SecretStr

from glados.conversations.plugin import ConversationsPlugin
from glados.database import DatabaseSettings
from glados.database.connections import connect
from glados.database.ledger import relations
from glados.database.migrations import Migrations
from glados.database.testing import open_database
from glados.database.urls import parse_url

MIGRATION = "conversations.2026-05-04-init"


def tables(url: str) -> set[str]:
    location = parse_url(url)
    with connect(location, DatabaseSettings(url=SecretStr(url))) as connection:
        return {name for name in relations(connection, location.kind) if name.startswith("conversations_")}


async def test_the_tables_come_with_the_migration_and_go_with_its_rollback(database_url: str) -> None:
    async with open_database(database_url, ConversationsPlugin):
        pass
    names = ("sessions", "tags", "entries", "costs", "runs", "search", "rules", "artifacts")
    assert {f"conversations_{name}" for name in names} <= tables(database_url)
    migrations = Migrations(parse_url(database_url), DatabaseSettings(url=SecretStr(database_url)))
    await asyncio.to_thread(migrations.rollback, ConversationsPlugin, (MIGRATION,), Event())
    assert tables(database_url) == set()
