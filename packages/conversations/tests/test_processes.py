from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from glados.conversations import SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.core.errors import RunLost, SessionBusy
from glados.core.messages import Usage
from glados.core.sessions import Draft, ModelCost, OpenRun, RunStart
from glados.database import DatabaseService
from glados.database.testing import open_database

HERE = Path(__file__).parent
KILLS = 100
PROCESSES, ROUNDS = 4, 5


async def drive(driver: str, *arguments: object) -> str:
    command = [sys.executable, str(HERE / driver), *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=subprocess.STDOUT)
    output, _ = await process.communicate()
    assert process.returncode == 0, f"{driver} {arguments}:\n{output.decode()}"
    return output.decode()


@pytest.mark.timeout(600)
async def test_nothing_acknowledged_is_lost_however_often_the_process_is_killed(
    database_url: str, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(10**9)  # told when it fails, to be given again
    told = await drive("kill_driver.py", database_url, tmp_path, KILLS, seed)
    assert f"{KILLS} kills" in told


async def test_four_processes_number_a_hundred_sessions_without_a_gap(
    database: DatabaseService, database_url: str
) -> None:
    store = SqlSessionStore(database)
    root = await store.create()
    sessions = await asyncio.gather(*(store.create(parent_id=root.id) for _ in range(100)))
    await drive("writer_driver.py", database_url, PROCESSES, ROUNDS, *(session.id for session in sessions))
    written = PROCESSES * ROUNDS * 2
    for session in sessions:
        entries = await store.entries(session.id)
        assert [entry.seq for entry in entries] == list(range(1, written + 1))
        assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries)][:written]
        assert entries == list(await store.branch(session.id))
        for process in range(PROCESSES):
            own = [entry.payload for entry in entries if entry.payload["process"] == process]  # type: ignore[index]
            assert own == [{"process": process, "number": number} for number in range(ROUNDS) for _ in range(2)]
    calls = 100 * written
    assert await store.costs(root.id) == [ModelCost("model", calls, Usage(calls, calls), calls * 0.5)]


Holding = Callable[[str, str], Awaitable[Process]]


@pytest.fixture
async def holding(anyio_backend: Any, database_url: str) -> AsyncIterator[Holding]:
    """Start processes that hold an open run: `await holding(session_id, run_id)`."""
    started: list[Process] = []

    async def hold(session_id: str, run_id: str) -> Process:
        command = [sys.executable, str(HERE / "lease_driver.py"), database_url, session_id, run_id]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        started.append(process)
        assert process.stdout is not None
        assert await process.stdout.readline() == b"open\n"
        return process

    yield hold
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def end(process: Process, store: SqlSessionStore) -> None:
    """Kill a process, and wait until its runs are seen as dead: a server hears of it by a socket, in its own time."""
    process.send_signal(signal.SIGKILL)
    await process.wait()
    async with asyncio.timeout(30):
        while any(run.alive for run in await store.open_runs()):
            pass


async def test_a_run_of_another_process_is_busy_while_it_lives_and_can_be_taken_over_when_it_is_dead(
    store: SqlSessionStore, holding: Holding
) -> None:
    session = await store.create()
    other = await holding(session.id, "r1")
    assert await store.open_runs() == [OpenRun("r1", session.id, True, 0, alive=True, mine=False)]
    assert await store.adopt("r1") is False
    with pytest.raises(SessionBusy):
        await store.append(session.id, [], opens=RunStart("r2"))
    with pytest.raises(SessionBusy):
        await store.delete(session.id)
    with pytest.raises(SessionBusy):
        await store.switch(session.id, None)
    await end(other, store)
    await store.switch(session.id, None)
    assert await store.open_runs() == [OpenRun("r1", session.id, True, 0, alive=False, mine=False)]
    with pytest.raises(SessionBusy):
        await store.append(session.id, [], opens=RunStart("r2"))
    assert sorted(await asyncio.gather(store.adopt("r1"), store.adopt("r1"))) == [False, True]
    assert await store.open_runs() == [OpenRun("r1", session.id, True, 1, alive=True, mine=True)]
    await store.append(session.id, [Draft("run_end", {}, "r1")])
    await store.append(session.id, [], opens=RunStart("r2"))


async def test_of_two_services_one_takes_a_dead_run_over_and_the_other_cannot_write_to_it(
    store: SqlSessionStore, holding: Holding, database_url: str
) -> None:
    session = await store.create()
    await end(await holding(session.id, "r1"), store)
    async with open_database(database_url, ConversationsPlugin) as second:
        other = SqlSessionStore(second)
        taken = await asyncio.gather(store.adopt("r1"), other.adopt("r1"))
        assert sorted(taken) == [False, True]
        [run] = await (store if taken[0] else other).open_runs()
        assert (run.mine, run.alive, run.resumed) == (True, True, 1)


async def test_who_lost_its_run_cannot_append(store: SqlSessionStore, database_url: str) -> None:
    session = await store.create()
    async with open_database(database_url, ConversationsPlugin) as second:
        first = SqlSessionStore(second)
        await first.append(session.id, [Draft("custom", {}, "r1")], opens=RunStart("r1"))
        lease = first._holder._lease
        assert lease is not None
        await lease.release()  # as if the server had been out of its reach
        assert await store.adopt("r1") is True
        with pytest.raises(RunLost, match="taken over"):
            await first.append(session.id, [Draft("custom", {}, "r1")])
        await store.append(session.id, [Draft("run_end", {}, "r1")])
        with pytest.raises(RunLost):
            await first.append(session.id, [Draft("run_end", {}, "r1")])
        await first.append(session.id, [Draft("custom", {})])
    assert [entry.kind for entry in await store.entries(session.id)] == ["custom", "run_end", "custom"]


async def test_a_session_with_a_dead_run_below_it_can_be_deleted(store: SqlSessionStore, holding: Holding) -> None:
    root = await store.create()
    child = await store.create(parent_id=root.id)
    other = await holding(child.id, "r1")
    with pytest.raises(SessionBusy):
        await store.delete(root.id)
    assert len(await store.list()) == 2
    await end(other, store)
    await store.delete(root.id)
    assert (await store.list(), await store.open_runs()) == ([], [])
