from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel import Field, SQLModel, select
from sqlmodel.ext.asyncio.session import AsyncSession

from glados.database import (
    DatabaseBusy,
    DatabaseService,
    DatabaseUnavailable,
    ReadOnlySession,
)
from glados.database.testing import open_database, run_server


class Gauge(SQLModel, table=True):
    __tablename__ = "gauging_gauges"  # pyright: ignore[reportAssignmentType]
    name: str = Field(primary_key=True)
    value: int = 0


@pytest.fixture
def gauging(make_plugin: Any) -> Any:
    sql = "CREATE TABLE gauging_gauges (name VARCHAR(255) PRIMARY KEY, value INTEGER NOT NULL);"
    return make_plugin("gauging", {"2026-02-18-init.sql": f"{sql}\nINSERT INTO gauging_gauges VALUES ('a', 0);"})


@pytest.fixture
async def gauges(database_url: str, gauging: Any) -> AsyncIterator[DatabaseService]:
    async with open_database(database_url, gauging) as service:
        yield service


async def run(session: AsyncSession, statement: str) -> None:
    await (await session.connection()).execute(text(statement))


async def value_of(database: DatabaseService, name: str = "a") -> int | None:
    async with database.read() as session:
        gauge = await session.get(Gauge, name)
        return gauge.value if gauge else None


async def increment(session: AsyncSession) -> int:
    gauge = await session.get(Gauge, "a")
    assert gauge is not None
    # Everybody else gets a turn between the read and the write.
    await asyncio.sleep(0)
    gauge.value += 1
    return gauge.value


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO gauging_gauges VALUES ('b', 1)",
        "UPDATE gauging_gauges SET value = 9",
        "DELETE FROM gauging_gauges",
        "CREATE TABLE gauging_more (x INTEGER)",
        "DROP TABLE gauging_gauges",
    ],
)
async def test_a_reading_session_cannot_write(gauges: DatabaseService, statement: str) -> None:
    with pytest.raises(ReadOnlySession, match="cannot write"):
        async with gauges.read() as session:
            await run(session, statement)
    assert await value_of(gauges) == 0


@pytest.mark.parametrize("flush", [True, False])
async def test_objects_added_to_a_reading_session_are_an_error_and_not_lost_silently(
    gauges: DatabaseService, flush: bool
) -> None:
    async def add() -> None:
        async with gauges.read() as session:
            session.add(Gauge(name="b"))
            if flush:
                await session.flush()

    with pytest.raises(ReadOnlySession):
        await add()


async def test_a_reading_session_sees_one_state_throughout(gauges: DatabaseService) -> None:
    async with gauges.read() as session:
        first = (await session.exec(select(Gauge.value))).all()
        await gauges.write(increment)
        assert (await session.exec(select(Gauge.value))).all() == first
    assert await value_of(gauges) == 1


async def test_a_plugins_own_database_error_stays_what_it_is(gauges: DatabaseService) -> None:
    with pytest.raises(IntegrityError):
        async with gauges.transaction() as session:
            session.add(Gauge(name="a"))
    assert await value_of(gauges) == 0


async def test_a_database_that_became_read_only_is_no_fault_of_the_plugin(postgresql_server: Any, gauging: Any) -> None:
    with postgresql_server.database() as url:
        async with open_database(url, gauging) as database, database.transaction() as session:
            name = (await (await session.connection()).execute(text("SELECT current_database()"))).scalar_one()
            await run(session, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        async with open_database(url) as database:
            with pytest.raises(DatabaseUnavailable, match="read-only"):
                await database.write(increment)


async def test_no_free_connection_is_told_with_what_to_do(database_url: str, gauging: Any) -> None:
    impatient = open_database(database_url, gauging, pool_size=1, pool_timeout=0.05)
    async with impatient as database, database.read() as session:
        await session.exec(select(Gauge))
        with pytest.raises(DatabaseBusy, match="DATABASE_POOL_SIZE"):
            await value_of(database)


async def test_references_are_enforced(database_url: str, make_plugin: Any) -> None:
    family = make_plugin(
        "family",
        {
            "2026-01-01-init.sql": "CREATE TABLE family_parents (id INTEGER PRIMARY KEY);\n"
            "CREATE TABLE family_children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES family_parents (id));"
        },
    )
    async with open_database(database_url, family) as database:
        with pytest.raises(IntegrityError):
            async with database.transaction() as session:
                await run(session, "INSERT INTO family_children VALUES (1, 1)")


async def test_a_server_that_went_away_is_an_error_and_one_that_came_back_works(gauging: Any) -> None:
    async with AsyncExitStack() as stack:
        with run_server() as server:
            database = await stack.enter_async_context(open_database(server.url(), gauging))
            assert await value_of(database) == 0
        with pytest.raises(DatabaseUnavailable, match="cannot be used"):
            await value_of(database)


async def test_connections_that_the_server_cut_are_replaced(postgresql_server: Any, gauging: Any) -> None:
    with postgresql_server.database() as url:
        async with open_database(url, gauging) as database, open_database(url) as other:
            assert await value_of(database) == 0
            async with other.read() as session:
                await run(
                    session,
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                )
            assert await database.write(increment) == 1
