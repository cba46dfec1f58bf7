from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from glados.conversations import SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.database import DatabaseService
from glados.database.testing import open_database


@pytest.fixture
async def database(anyio_backend: Any, database_url: str) -> AsyncIterator[DatabaseService]:
    """A database with our tables in it, on SQLite and on PostgreSQL."""
    async with open_database(database_url, ConversationsPlugin) as service:
        yield service


@pytest.fixture
def store(database: DatabaseService) -> SqlSessionStore:
    return SqlSessionStore(database)
