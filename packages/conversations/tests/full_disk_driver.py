"""Appends until the disk is full: `python full_disk_driver.py URL SESSION BYTES`; a line for each acknowledged entry.

A file may not grow beyond BYTES, which looks to SQLite like a disk without room.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import sys

from glados.conversations import SqlSessionStore
from glados.core.errors import GladosError
from glados.core.messages import user_message
from glados.core.sessions import Draft
from glados.database.testing import open_database


async def main(url: str, session_id: str, limit: int) -> None:
    async with open_database(url) as database:
        store = SqlSessionStore(database)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            while True:
                [entry] = await store.append(session_id, [Draft("message", user_message("x" * 5000))])
                print(entry.seq, entry.id, flush=True)
        except GladosError as error:
            print("error", error.code, error.message, flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
