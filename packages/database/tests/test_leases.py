from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glados.database import DatabaseService
from glados.database.testing import open_database

HOLDER = """
import asyncio, os, subprocess, sys
from glados.database.testing import open_database

async def main():
    async with open_database(sys.argv[1]) as database:
        lease = await database.lease()
        if sys.argv[2] == "fork" and os.fork() == 0:
            os.write(1, f"child {os.getpid()}\\n".encode())
            os.read(0, 1)
            os._exit(0)
        if sys.argv[2] == "spawn":
            child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], close_fds=False)
            os.write(1, f"child {child.pid}\\n".encode())
        os.write(1, f"lease {lease.id}\\n".encode())
        await asyncio.Event().wait()

asyncio.run(main())
"""


class Holder:
    """A process that holds a lease until it is killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.found: dict[str, str] = {}

    def read(self, *names: str) -> None:
        assert self._process.stdout is not None
        while not set(names) <= set(self.found):
            name, _, value = self._process.stdout.readline().strip().partition(" ")
            assert name in names
            self.found[name] = value

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(30)


@contextmanager
def holding(url: str, folder: Path, mode: str = "") -> Generator[Holder]:
    script = folder / "holder.py"
    script.write_text(HOLDER)
    with subprocess.Popen(
        [sys.executable, script, url, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        holder = Holder(process)
        try:
            holder.read("lease", *(["child"] if mode else []))
            yield holder
        finally:
            process.kill()
            assert process.stdin is not None
            process.stdin.close()


async def until_dead(database: DatabaseService, id: str) -> None:
    """A server hears of the end of a process by its socket, in its own time."""
    async with asyncio.timeout(30):
        while await database.is_alive(id):
            await asyncio.sleep(0)


async def test_a_lease_is_alive_until_it_is_released(database: DatabaseService, database_url: str) -> None:
    async with open_database(database_url) as other:
        lease = await database.lease()
        second = await database.lease()
        assert lease.id != second.id
        assert await database.is_alive(lease.id)
        assert await other.is_alive(lease.id)
        assert not lease.lost
        await lease.release()
        await lease.release()
        assert not await database.is_alive(lease.id)
        assert not await other.is_alive(lease.id)
        assert await other.is_alive(second.id)


async def test_a_service_that_is_closed_gives_its_leases_back(database: DatabaseService, database_url: str) -> None:
    async with open_database(database_url) as other:
        lease = await other.lease()
    await until_dead(database, lease.id)


@pytest.mark.parametrize("id", ["0" * 32, "", "../../etc/passwd", "0" * 31 + "G"])
async def test_what_nobody_holds_is_not_alive(database: DatabaseService, id: str) -> None:
    assert not await database.is_alive(id)


@pytest.mark.parametrize("mode", ["", "fork", "spawn"])
async def test_a_killed_process_holds_no_lease_whatever_children_it_left(
    database: DatabaseService, database_url: str, tmp_path: Path, mode: str
) -> None:
    with holding(database_url, tmp_path, mode) as holder:
        id = holder.found["lease"]
        assert await database.is_alive(id)
        holder.kill()
        await until_dead(database, id)
        if mode:
            # The child lives on and would keep what it had inherited.
            os.kill(int(holder.found["child"]), 0)


async def test_many_who_look_at_once_agree(database: DatabaseService, database_url: str, tmp_path: Path) -> None:
    async with open_database(database_url) as other:
        with holding(database_url, tmp_path) as holder:
            id = holder.found["lease"]
            assert all(await asyncio.gather(*(each.is_alive(id) for each in [database, other] * 10)))
            holder.kill()
            await until_dead(database, id)
            assert not any(await asyncio.gather(*(each.is_alive(id) for each in [database, other] * 10)))


async def test_files_of_dead_leases_are_removed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.sqlite3"
    async with open_database(url) as database:
        with holding(url, tmp_path) as holder:
            holder.kill()
            folder = tmp_path / "a.sqlite3.leases"
            assert [path.name for path in folder.iterdir()] == [holder.found["lease"]]
            lease = await database.lease()
            assert [path.name for path in folder.iterdir()] == [lease.id]
    assert list(folder.iterdir()) == []


def cut(server: Any, url: str) -> None:
    """End every session of a database, as a server does that restarts."""
    import psycopg

    name = url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,)
        ).fetchall()


async def test_a_lease_whose_connection_was_lost_is_taken_again_by_itself(postgresql_server: Any) -> None:
    with postgresql_server.database() as url:
        async with open_database(url) as database:
            lease = await database.lease()
            cut(postgresql_server, url)
            # Somebody who only looks at the server, and says nothing about what it sees.
            import psycopg

            async with asyncio.timeout(30), await psycopg.AsyncConnection.connect(url, autocommit=True) as look:
                held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                while (await (await look.execute(held)).fetchone()) == (0,):
                    await asyncio.sleep(0)
            assert await database.is_alive(lease.id)
            assert not lease.lost


async def test_a_lease_that_others_saw_dead_is_lost(postgresql_server: Any) -> None:
    with postgresql_server.database() as url:
        async with open_database(url) as database, open_database(url) as other:
            lease = await database.lease()
            second = await database.lease()
            cut(postgresql_server, url)
            # The loop of the holder gets no turn in between, so it cannot take the lease again first.
            assert not other._leases._keeper.alive(lease.id)  # pyright: ignore[reportPrivateUsage]
            async with asyncio.timeout(30):
                while not lease.lost:
                    await database.is_alive(second.id)
            assert not await database.is_alive(lease.id)
            assert not second.lost
            assert await other.is_alive(second.id)


async def test_a_server_that_is_away_for_a_while_is_waited_for(postgresql_server: Any) -> None:
    import psycopg

    with postgresql_server.database() as url:
        name = url.partition("@/")[2].partition("?")[0]
        async with open_database(url) as database:
            lease = await database.lease()
            with psycopg.connect(postgresql_server.url(), autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
                cut(postgresql_server, url)
                async with asyncio.timeout(30):
                    while database._leases._returning is None:  # pyright: ignore[reportPrivateUsage]
                        await asyncio.sleep(0)
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
            async with asyncio.timeout(30):
                while not await database.is_alive(lease.id):
                    await asyncio.sleep(0)
            assert not lease.lost
