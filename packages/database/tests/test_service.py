from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import Field, SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from glados.database import (
    Conflict,
    DatabaseBusy,
    DatabaseService,
    NestedTransaction,
)
from glados.database.testing import open_database


class Counter(SQLModel, table=True):
    __tablename__ = "counting_counters"  # pyright: ignore[reportAssignmentType]
    name: str = Field(primary_key=True)
    value: int = 0


@pytest.fixture
def counting(make_plugin: Any) -> Any:
    sql = "CREATE TABLE counting_counters (name VARCHAR(255) PRIMARY KEY, value INTEGER NOT NULL);"
    return make_plugin("counting", {"2026-02-18-init.sql": f"{sql}\nINSERT INTO counting_counters VALUES ('a', 0);"})


@pytest.fixture
async def counters(database_url: str, counting: Any) -> AsyncIterator[DatabaseService]:
    async with open_database(database_url, counting) as service:
        yield service


async def run(session: AsyncSession, statement: str) -> None:
    await (await session.connection()).execute(text(statement))


async def value_of(database: DatabaseService, name: str = "a") -> int | None:
    async with database.read() as session:
        counter = await session.get(Counter, name)
        return counter.value if counter else None


async def increment(session: AsyncSession) -> int:
    counter = await session.get(Counter, "a")
    assert counter is not None
    # Everybody else gets a turn between the read and the write.
    await asyncio.sleep(0)
    counter.value += 1
    return counter.value


async def test_fifty_writers_that_read_and_then_write_lose_nothing(counters: DatabaseService) -> None:
    async def writer() -> list[int]:
        return [await counters.write(increment) for _ in range(4)]

    results = await asyncio.gather(*(writer() for _ in range(50)))
    assert await value_of(counters) == 200
    assert sorted(value for values in results for value in values) == list(range(1, 201))


async def test_writers_of_two_services_lose_nothing(counters: DatabaseService, database_url: str) -> None:
    async with open_database(database_url) as other:
        await asyncio.gather(*(service.write(increment) for service in (counters, other) for _ in range(25)))
    assert await value_of(counters) == 50


async def test_fifty_writers_that_create_what_is_missing_create_it_once(counters: DatabaseService) -> None:
    async def ensure(session: AsyncSession) -> None:
        counter = await session.get(Counter, "new")
        await asyncio.sleep(0)
        if counter is None:
            session.add(Counter(name="new", value=1))
        else:
            counter.value += 1

    await asyncio.gather(*(counters.write(ensure) for _ in range(50)))
    assert await value_of(counters, "new") == 50


async def test_a_transaction_that_lost_a_race_raises_conflict(database_url: str, counting: Any) -> None:
    impatient = open_database(database_url, counting, busy_timeout=0.05)
    async with impatient as database, database.transaction() as session:
        await increment(session)
        await session.flush()
        with pytest.raises(Conflict) as raised:
            await asyncio.create_task(quick(database))
    assert raised.value.code == "conflict"


async def quick(database: DatabaseService) -> None:
    """Change the same row in a task of its own; on PostgreSQL it waits for the row, so the other one must not."""
    async with database.transaction() as session:
        if database.kind == "postgresql":
            await run(session, "SET LOCAL lock_timeout = '50ms'")
        await increment(session)


async def test_a_row_that_somebody_else_changed_since_it_was_read_is_a_conflict(
    postgresql_server: Any, counting: Any
) -> None:
    async def overtaken(database: DatabaseService) -> None:
        async with database.transaction() as session:
            counter = await session.get_one(Counter, "a")
            # SQLite lets nobody else write while a transaction is open.
            await asyncio.create_task(quick(database))
            counter.value = 100

    with postgresql_server.database() as url:
        async with open_database(url, counting) as database:
            with pytest.raises(Conflict):
                await overtaken(database)
            assert await value_of(database) == 1


async def test_a_row_that_is_gone_is_a_conflict(counters: DatabaseService) -> None:
    async def change_what_is_gone() -> None:
        async with counters.transaction() as session:
            counter = await session.get_one(Counter, "a")
            await run(session, "DELETE FROM counting_counters")
            counter.value = 5

    with pytest.raises(Conflict):
        await change_what_is_gone()


async def test_write_gives_up_when_it_loses_for_too_long(database_url: str, counting: Any) -> None:
    async def lose(session: AsyncSession) -> None:
        raise Conflict("Lost.")

    async with open_database(database_url, counting, write_timeout=0.05) as database:
        with pytest.raises(Conflict):
            await database.write(lose)


async def test_write_runs_again_from_the_beginning_after_a_lost_race(counters: DatabaseService) -> None:
    seen: list[int] = []

    async def lose_twice(session: AsyncSession) -> int:
        value = await increment(session)
        await session.flush()
        seen.append(value)
        if len(seen) < 3:
            raise Conflict("Lost.")
        return value

    assert await counters.write(lose_twice) == 1
    assert seen == [1, 1, 1]
    assert await value_of(counters) == 1


async def test_an_exception_takes_everything_back(counters: DatabaseService) -> None:
    async def fail() -> None:
        async with counters.transaction() as session:
            await increment(session)
            await session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await value_of(counters) == 0


async def test_cancellation_takes_everything_back_and_frees_the_database(counters: DatabaseService) -> None:
    written = asyncio.Event()

    async def stuck() -> None:
        async with counters.transaction() as session:
            await increment(session)
            await session.flush()
            written.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stuck())
    await written.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await counters.write(increment) == 1
    gc.collect()


async def test_many_cancelled_writers_leave_a_usable_database(counters: DatabaseService) -> None:
    tasks = [asyncio.create_task(counters.write(increment)) for _ in range(30)]
    for turn, task in enumerate(tasks):
        await asyncio.sleep(0)
        if turn % 2:
            task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    finished = sum(isinstance(result, int) for result in results)
    assert finished >= 15
    # A cancelled writer whose commit had begun may have been counted, an unfinished one may not.
    assert finished <= (await value_of(counters) or 0) <= 30
    gc.collect()


async def test_a_transaction_inside_a_transaction_is_refused_at_once(counters: DatabaseService) -> None:
    async with counters.transaction():
        with pytest.raises(NestedTransaction, match="use its session"):
            await counters.write(increment)
    assert await counters.write(increment) == 1


async def test_a_write_inside_a_write_that_lost_a_race_is_refused_at_once(counters: DatabaseService) -> None:
    attempts = 0

    async def nested(session: AsyncSession) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise Conflict("Lost.")
        await counters.write(increment)

    with pytest.raises(NestedTransaction):
        await counters.write(nested)


async def test_a_writer_that_waits_for_others_gives_up_in_time(database_url: str, counting: Any) -> None:
    async with open_database(database_url, counting, write_timeout=0.1) as database:

        async def starts_another(session: AsyncSession) -> None:
            if not attempts:
                attempts.append(1)
                raise Conflict("Lost.")
            # It waits for its turn, which comes only when this change has ended.
            await asyncio.create_task(database.write(increment))

        attempts: list[int] = []
        with pytest.raises(DatabaseBusy):
            await database.write(starts_another)
        assert await value_of(database) == 0


async def test_objects_stay_usable_after_their_session(counters: DatabaseService) -> None:
    async with counters.transaction() as session:
        counter = await session.get(Counter, "a")
    assert counter is not None
    assert counter.value == 0


async def test_it_says_its_kind_and_where_it_is(database: DatabaseService, database_url: str) -> None:
    assert database_url.startswith(database.kind)
    assert database.url == database_url
