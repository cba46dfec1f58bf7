"""A process that opens a run and waits to be killed: `python lease_driver.py URL SESSION RUN`; says `open` first."""

from __future__ import annotations

import asyncio
import sys

from glados.conversations import SqlSessionStore
from glados.core.sessions import Draft, RunStart
from glados.database.testing import open_database


async def main(url: str, session_id: str, run_id: str) -> None:
    async with open_database(url) as database:
        store = SqlSessionStore(database)
        await store.append(session_id, [Draft("custom", {}, run_id)], opens=RunStart(run_id, resumable=True))
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main(*sys.argv[1:4]))
