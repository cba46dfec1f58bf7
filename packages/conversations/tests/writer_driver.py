"""Processes that write the same sessions at once: `python writer_driver.py URL PROCESSES ROUNDS SESSION…`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback

import psycopg

from glados.conversations import SqlSessionStore
from glados.core.messages import Usage
from glados.core.sessions import Charge, Draft
from glados.database.testing import open_database

URL, PROCESSES, ROUNDS, SESSIONS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
LOADED = psycopg  # before the forks
CHARGE = Charge("model", Usage(1, 1), 0.5)


async def write(process: int) -> None:
    async with open_database(URL) as database:
        store = SqlSessionStore(database)

        async def fill(session_id: str) -> None:
            for number in range(ROUNDS):
                payload = {"process": process, "number": number}
                entries = await store.append(session_id, [Draft("custom", payload, charges=(CHARGE,))] * 2)
                assert entries[1].seq == entries[0].seq + 1

        await asyncio.gather(*map(fill, SESSIONS if process % 2 else reversed(SESSIONS)))


def main() -> None:
    gate, opened = os.pipe()
    children: list[int] = []
    for process in range(PROCESSES):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.alarm(100)
                os.close(opened)
                os.read(gate, 1)  # ends when the parent closes its side: all begin together
                asyncio.run(write(process))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(pid)
    os.close(opened)
    os.close(gate)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * PROCESSES


main()
