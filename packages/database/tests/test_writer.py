from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from glados.database import (
    Connection,
    DatabaseBusy,
    DatabaseService,
    DatabaseUnavailable,
    LostTransaction,
    NestedTransaction,
)
from glados.database.testing import open_database, run_server

TABLES = """
CREATE TABLE logging_logs (id VARCHAR(255) PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE logging_lines (log VARCHAR(255), seq INTEGER, text VARCHAR(255), PRIMARY KEY (log, seq));
INSERT INTO logging_logs VALUES ('a', 0), ('b', 0), ('c', 0);
"""


@pytest.fixture
def logging_plugin(make_plugin: Any) -> Any:
    return make_plugin("logging", {"2026-02-18-init.sql": TABLES})


@pytest.fixture
async def logs(database_url: str, logging_plugin: Any) -> AsyncIterator[DatabaseService]:
    async with open_database(database_url, logging_plugin) as service:
        yield service


def append(log: str, text: str = "?") -> Callable[[Connection], int]:
    def change(connection: Connection) -> int:
        row = connection.execute("UPDATE logging_logs SET seq = seq + 1 WHERE id = ? RETURNING seq", (log,)).fetchone()
        connection.execute("INSERT INTO logging_lines VALUES (?, ?, ?)", (log, row[0], text))
        return row[0]

    return change


def lines(connection: Connection) -> list[tuple[str, int]]:
    return connection.execute("SELECT log, seq FROM logging_lines ORDER BY log, seq").fetchall()


class Gate:
    """A change that holds the writer until it is let go, so that others wait in the line behind it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, connection: Connection) -> None:
        self.begun.set()
        assert self.go.wait(30)

    async def hold(self, database: DatabaseService) -> asyncio.Task[None]:
        task = asyncio.create_task(database.commit(self))
        assert await asyncio.to_thread(self.begun.wait, 30)
        return task


async def queued(count: int = 1) -> None:
    """Let tasks that were created run until they wait for the writer."""
    for _ in range(3 * count):
        await asyncio.sleep(0)


async def test_a_change_is_stored_and_gives_what_it_returns(logs: DatabaseService) -> None:
    assert await logs.commit(append("a")) == 1
    assert await logs.commit(append("a")) == 2
    assert await logs.query(lines) == [("a", 1), ("a", 2)]


async def test_changes_that_wait_share_one_transaction(logs: DatabaseService, store: Any) -> None:
    def stored_before(connection: Connection) -> int:
        append("a")(connection)
        return store.run("SELECT count(*) FROM logging_lines")[0][0]

    gate = Gate()
    held = await gate.hold(logs)
    tasks = [asyncio.create_task(logs.commit(stored_before)) for _ in range(50)]
    await queued(50)
    gate.go.set()
    assert await asyncio.gather(*tasks) == [0] * 50
    await held
    assert len(await logs.query(lines)) == 50


async def test_concurrent_callers_lose_nothing(logs: DatabaseService) -> None:
    results = await asyncio.gather(*(logs.commit(append("abc"[n % 3])) for n in range(300)))
    assert sorted(results) == sorted(3 * list(range(1, 101)))


async def test_a_change_that_raises_takes_back_only_itself_and_order_is_kept(logs: DatabaseService) -> None:
    def fail(connection: Connection) -> None:
        append("a")(connection)
        raise ZeroDivisionError

    gate = Gate()
    held = await gate.hold(logs)
    changes = [append("a"), fail, append("a"), append("a"), fail, fail, append("a")]
    tasks = [asyncio.create_task(logs.commit(change)) for change in changes]
    await queued(len(tasks))
    gate.go.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    await held
    assert [result if isinstance(result, int) else type(result) for result in results] == [
        1,
        ZeroDivisionError,
        2,
        3,
        ZeroDivisionError,
        ZeroDivisionError,
        4,
    ]
    assert await logs.query(lines) == [("a", 1), ("a", 2), ("a", 3), ("a", 4)]


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration()], ids=["exit", "stop"])
async def test_whatever_a_change_raises_the_writer_goes_on(logs: DatabaseService, error: BaseException) -> None:
    def fail(connection: Connection) -> None:
        raise error

    with pytest.raises(BaseException, match=r"3|StopIteration"):
        await logs.commit(fail)
    assert await logs.commit(append("a")) == 1


async def test_an_error_of_the_statement_stays_the_drivers(logs: DatabaseService) -> None:
    def twice(connection: Connection) -> None:
        connection.execute("INSERT INTO logging_logs VALUES (?, 0)", ("a",))

    with pytest.raises(Exception, match=r"(?i)unique") as raised:
        await logs.commit(twice)
    assert type(raised.value).__name__ in ("IntegrityError", "UniqueViolation")


async def test_a_change_that_swallows_an_error_of_the_database_is_not_acknowledged(
    postgresql_server: Any, logging_plugin: Any
) -> None:
    def swallow(connection: Connection) -> None:
        append("a")(connection)
        try:
            connection.execute("INSERT INTO logging_logs VALUES (?, 0)", ("a",))
        except Exception:
            return

    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin) as database:
            gate = Gate()
            held = await gate.hold(database)
            tasks = [asyncio.create_task(database.commit(change)) for change in (append("a"), swallow, append("a"))]
            await queued(3)
            gate.go.set()
            first, second, third = await asyncio.gather(*tasks, return_exceptions=True)
            await held
            assert (first, type(second), third) == (1, LostTransaction, 2)
            assert await database.query(lines) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("statement", ["COMMIT", "/* x */ rollback", "END", "BEGIN"])
async def test_a_change_cannot_end_the_transaction_of_the_others(logs: DatabaseService, statement: str) -> None:
    def end(connection: Connection) -> None:
        append("a")(connection)
        connection.execute(statement)

    with pytest.raises(LostTransaction, match="leave BEGIN, COMMIT and ROLLBACK"):
        await logs.commit(end)
    with pytest.raises(LostTransaction):
        await logs.query(lambda connection: connection.execute(statement))
    assert await logs.query(lines) == []


async def test_a_change_may_use_savepoints(logs: DatabaseService) -> None:
    def change(connection: Connection) -> None:
        append("a")(connection)
        connection.execute("SAVEPOINT one")
        append("a")(connection)
        connection.execute("ROLLBACK TO SAVEPOINT one")
        connection.execute("RELEASE one")

    await logs.commit(change)
    assert await logs.query(lines) == [("a", 1)]


async def test_a_constraint_that_is_checked_at_the_end_fails_its_change_alone(
    database_url: str, make_plugin: Any
) -> None:
    sql = """
        CREATE TABLE family_parents (id INTEGER PRIMARY KEY);
        CREATE TABLE family_children (
            id INTEGER PRIMARY KEY, parent INTEGER REFERENCES family_parents (id) DEFERRABLE INITIALLY DEFERRED
        );
    """

    def child(id: int, parent: int | None) -> Callable[[Connection], int]:
        def change(connection: Connection) -> int:
            return connection.execute("INSERT INTO family_children VALUES (?, ?)", (id, parent)).rowcount

        return change

    async with open_database(database_url, make_plugin("family", {"2026-01-01-init.sql": sql})) as database:
        gate = Gate()
        held = await gate.hold(database)
        tasks = [asyncio.create_task(database.commit(child(id, 9 if id == 1 else None))) for id in range(3)]
        await queued(3)
        gate.go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await held
        assert (results[0], results[2]) == (1, 1)
        assert type(results[1]).__name__ in ("IntegrityError", "ForeignKeyViolation")
        found = await database.query(lambda c: c.execute("SELECT id FROM family_children ORDER BY id").fetchall())
        assert found == [(0,), (2,)]


async def test_a_caller_who_is_cancelled_before_the_beginning_takes_its_change_back(logs: DatabaseService) -> None:
    gate = Gate()
    held = await gate.hold(logs)
    task = asyncio.create_task(logs.commit(append("a")))
    await queued()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.go.set()
    await held
    assert await logs.commit(append("b")) == 1
    assert await logs.query(lines) == [("b", 1)]


async def test_a_caller_who_is_cancelled_after_the_beginning_leaves_when_its_change_is_stored(
    logs: DatabaseService,
) -> None:
    begun, go = threading.Event(), threading.Event()

    def change(connection: Connection) -> int:
        begun.set()
        assert go.wait(30)
        return append("a")(connection)

    task = asyncio.create_task(logs.commit(change))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await queued()
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await logs.query(lines) == [("a", 1)]


async def test_the_line_is_bounded_and_those_who_wait_for_a_place_get_one_in_order(
    database_url: str, logging_plugin: Any
) -> None:
    async with open_database(database_url, logging_plugin, commit_queue=4, commit_batch=2) as database:
        sizes: list[int] = []
        results = await asyncio.gather(*(database.commit(append("a")) for _ in range(40)))
        assert results == list(range(1, 41))
        gate = Gate()
        held = await gate.hold(database)
        tasks = [asyncio.create_task(database.commit(append("a"))) for _ in range(10)]
        await queued(10)
        sizes.append(database._commits._queue.qsize())  # pyright: ignore[reportPrivateUsage]
        gate.go.set()
        assert await asyncio.gather(*tasks) == list(range(41, 51))
        await held
        assert sizes == [3]


async def test_a_transaction_holds_no_more_changes_than_the_setting_says(
    postgresql_server: Any, logging_plugin: Any
) -> None:
    def number(connection: Connection) -> int:
        return connection.execute("SELECT txid_current()").fetchone()[0]

    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin, commit_batch=4) as database:
            gate = Gate()
            held = await gate.hold(database)
            tasks = [asyncio.create_task(database.commit(number)) for _ in range(12)]
            await queued(12)
            gate.go.set()
            numbers = await asyncio.gather(*tasks)
            await held
            assert [numbers.count(each) for each in sorted(set(numbers))] == [4, 4, 4]


async def test_a_commit_inside_a_transaction_of_the_same_task_is_refused_at_once(logs: DatabaseService) -> None:
    async with logs.transaction():
        with pytest.raises(NestedTransaction):
            await logs.commit(append("a"))
    assert await logs.commit(append("a")) == 1


async def test_close_finishes_what_is_in_the_line_and_refuses_the_rest(database_url: str, logging_plugin: Any) -> None:
    async with open_database(database_url, logging_plugin) as database:
        tasks = [asyncio.create_task(database.commit(append("a"))) for _ in range(20)]
        await queued(20)
    assert await asyncio.gather(*tasks) == list(range(1, 21))
    assert not any(thread.name == "glados-commits" for thread in threading.enumerate())
    with pytest.raises(DatabaseUnavailable, match="was closed"):
        await database.commit(append("a"))


async def test_a_lock_that_is_held_too_long_is_told_and_later_commits_work(
    database_url: str, logging_plugin: Any, make_store: Any
) -> None:
    from glados.database.connections import connect

    async with open_database(database_url, logging_plugin, busy_timeout=0.2) as database:
        store = make_store(database_url)
        with connect(store.url, store.settings) as other:
            other.execute("BEGIN" if store.url.kind == "postgresql" else "BEGIN IMMEDIATE")
            other.execute("UPDATE logging_logs SET seq = 10 WHERE id = 'a'")
            with pytest.raises(DatabaseBusy, match="too long"):
                await database.commit(append("a"))
            other.execute("COMMIT")
        assert await database.commit(append("a")) == 11


async def test_one_who_waits_for_a_row_too_long_does_not_fail_the_others(
    postgresql_server: Any, logging_plugin: Any, make_store: Any
) -> None:
    from glados.database.connections import connect

    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin, busy_timeout=0.2) as database:
            store = make_store(url)
            gate = Gate()
            held = await gate.hold(database)
            with connect(store.url, store.settings) as other:
                other.execute("BEGIN")
                other.execute("UPDATE logging_logs SET seq = 10 WHERE id = 'b'")
                tasks = [asyncio.create_task(database.commit(append(log))) for log in "abc"]
                await queued(3)
                gate.go.set()
                results = await asyncio.gather(*tasks, return_exceptions=True)
            await held
            assert (results[0], type(results[1]), results[2]) == (1, DatabaseBusy, 1)


async def test_two_services_that_lock_rows_crosswise_both_get_through(
    postgresql_server: Any, logging_plugin: Any
) -> None:
    met: set[str] = set()

    def both(first: str, second: str, barrier: threading.Barrier) -> Callable[[Connection], None]:
        def change(connection: Connection) -> None:
            append(first)(connection)
            if first not in met:
                met.add(first)
                barrier.wait(30)
            append(second)(connection)

        return change

    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin) as one, open_database(url) as two:
            barrier = threading.Barrier(2)
            await asyncio.gather(one.commit(both("a", "b", barrier)), two.commit(both("b", "a", barrier)))
            assert await one.query(lines) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


async def test_a_full_disk_is_told_nothing_is_kept_and_later_commits_work(tmp_path: Path, logging_plugin: Any) -> None:
    def too_much(connection: Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        connection.execute("INSERT INTO logging_lines VALUES (?, ?, ?)", ("a", 1, "x" * 100_000))

    async with open_database(f"sqlite:///{tmp_path}/a.sqlite3", logging_plugin) as database:
        with pytest.raises(DatabaseUnavailable, match=r"full.*Look at the file and its disk"):
            await database.commit(too_much)
        assert await database.query(lines) == []
        assert await database.commit(append("a")) == 1


async def test_a_file_that_is_gone_or_no_database_is_told_and_works_when_it_is_back(
    tmp_path: Path, logging_plugin: Any
) -> None:
    file = tmp_path / "a.sqlite3"
    async with open_database(f"sqlite:///{file}", logging_plugin) as database:
        assert await database.commit(append("a")) == 1
        with closing(sqlite3.connect(file)) as backup:
            backup.execute("VACUUM INTO ?", (str(tmp_path / "backup.sqlite3"),))
        for end in ("", "-wal", "-shm"):
            file.with_name(f"a.sqlite3{end}").unlink()
        for work in (database.commit, database.query):
            with pytest.raises(DatabaseUnavailable, match="cannot be used"):
                await work(append("a"))
        file.write_text("Dear diary, " * 1000)
        for work in (database.commit, database.query):
            with pytest.raises(DatabaseUnavailable, match="not a database"):
                await work(append("a"))
        os.replace(tmp_path / "backup.sqlite3", file)
        assert await database.commit(append("a")) == 2
        assert await database.query(lines) == [("a", 1), ("a", 2)]


async def test_a_corrupt_page_is_told(tmp_path: Path, logging_plugin: Any) -> None:
    file = tmp_path / "a.sqlite3"
    async with open_database(f"sqlite:///{file}", logging_plugin) as database:
        await database.commit(append("a"))
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xff" * (file.stat().st_size - 4096))
    # The ledger is broken with the rest, so the service is opened without looking at it.
    from glados.database.settings import DatabaseSettings
    from glados.database.urls import parse_url

    database = DatabaseService(parse_url(f"sqlite:///{file}"), DatabaseSettings())
    for work in (database.commit, database.query):
        with pytest.raises(DatabaseUnavailable, match="malformed"):
            await work(lambda connection: connection.execute("SELECT * FROM logging_lines").fetchall())
    await database.close()


async def test_connections_that_the_server_cut_are_replaced(postgresql_server: Any, logging_plugin: Any) -> None:
    cut = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin) as database, open_database(url) as other:
            assert await database.commit(append("a")) == 1
            assert len(await database.query(lines)) == 1
            await other.query(lambda connection: connection.execute(cut).fetchall())
            assert await asyncio.gather(*(database.commit(append("a")) for _ in range(5))) == [2, 3, 4, 5, 6]
            assert len(await database.query(lines)) == 6


async def test_a_server_that_went_away_is_told(logging_plugin: Any) -> None:
    async with AsyncExitStack() as stack:
        with run_server() as server:
            database = await stack.enter_async_context(open_database(server.url(), logging_plugin))
            assert await database.commit(append("a")) == 1
        for work in (database.commit, database.query):
            with pytest.raises(DatabaseUnavailable, match="cannot be used"):
                await work(append("a"))


async def test_a_database_that_became_read_only_is_told(postgresql_server: Any, logging_plugin: Any) -> None:
    with postgresql_server.database() as url:
        async with open_database(url, logging_plugin) as database:
            name = url.partition("@/")[2].partition("?")[0]
            await database.commit(
                lambda c: c.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on").rowcount
            )
        async with open_database(url) as database:
            with pytest.raises(DatabaseUnavailable, match="read-only"):
                await database.commit(append("a"))


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, database_url: str, make_store: Any) -> None:
    script = tmp_path / "writes.py"
    script.write_text(f"""
import asyncio, os, signal
from glados.database.testing import open_database

async def main():
    async with open_database({database_url!r}) as database:
        await database.commit(lambda c: c.execute("CREATE TABLE kept (x INTEGER)").rowcount)
        async def write(n):
            await database.commit(lambda c: c.execute("INSERT INTO kept VALUES (?)", (n,)).rowcount)
            os.write(1, f"{{n}}\\n".encode())
            if n == 150:
                os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.gather(*(write(n) for n in range(100)))
        await asyncio.gather(*(write(n) for n in range(100, 200)))

asyncio.run(main())
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    acknowledged = {int(line) for line in done.stdout.split()}
    assert done.returncode == -9, done.stderr
    assert len(acknowledged) > 100
    assert acknowledged <= {row[0] for row in make_store(database_url).run("SELECT x FROM kept")}


def test_neither_sqlalchemy_nor_psycopg_is_imported_for_a_commit_on_sqlite(tmp_path: Path) -> None:
    script = tmp_path / "lean.py"
    script.write_text(f"""
import asyncio, sys
from glados.database import DatabaseService, DatabaseSettings
from glados.database.urls import parse_url

async def main():
    async with DatabaseService.open(parse_url("sqlite:///{tmp_path}/a.sqlite3"), DatabaseSettings()) as database:
        await database.commit(lambda c: c.execute("CREATE TABLE notes (x INTEGER)").rowcount)
        assert await database.query(lambda c: c.execute("SELECT * FROM notes").fetchall()) == []

asyncio.run(main())
heavy = {{"yoyo", "sqlalchemy", "sqlmodel", "psycopg", "sqlparse", "aiosqlite"}} & set(sys.modules)
assert not heavy, heavy
""")
    subprocess.run([sys.executable, script], check=True, timeout=60)
