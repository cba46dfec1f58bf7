"""pytest fixtures for plugins with tables; nothing heavy is imported until a test asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from glados.database import DatabaseService
    from glados.database.testing import PostgresServer


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server from a wheel, one for each process of the tests."""
    from glados.database.testing import INSTALL, find_binaries, run_server

    if find_binaries() is None:
        pytest.skip(INSTALL)
    with run_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The DATABASE_URL of a new, empty database: a test that asks for it runs once for each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'test.sqlite3'}"
        return
    server: Any = request.getfixturevalue("postgresql_server")
    with server.database() as url:
        yield url


@pytest.fixture
async def database(anyio_backend: Any, database_url: str) -> AsyncIterator[DatabaseService]:
    """A started DatabaseService on a new, empty database."""
    from glados.database.testing import open_database

    async with open_database(database_url) as service:
        yield service
