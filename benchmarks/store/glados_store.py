"""glados: SqlSessionStore on SQLite, as the daemon has it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.store import work
from glados.conversations import SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.core.messages import Message, TextPart, ToolCallPart, ToolResultPart, user_message
from glados.core.sessions import Draft
from glados.database.testing import open_database

ENTRIES = 10_000
DRAFT = Draft("message", user_message(work.TEXT), "run")


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[SqlSessionStore]:
    async with open_database(f"sqlite:///{folder / 'glados.sqlite3'}", ConversationsPlugin) as database:
        yield SqlSessionStore(database)


async def at_once(folder: Path) -> float:
    async with opened(folder) as store:
        ids = [(await store.create()).id for _ in range(work.SESSIONS)]
        return await work.at_once(lambda session: store.append(ids[session], [DRAFT]))


async def one_by_one(folder: Path) -> float:
    async with opened(folder) as store:
        session = await store.create()
        return await work.one_by_one(lambda _: store.append(session.id, [DRAFT]))


async def growth(folder: Path) -> float:
    """An append to a session of ten thousand entries over one to a session of one entry."""
    async with opened(folder) as store:
        short, long = await store.create(), await store.create()
        await store.append(short.id, [DRAFT])
        for _ in range(20):
            await store.append(long.id, [DRAFT] * (ENTRIES // 20))
        ratios: list[float] = []
        for _ in range(9):
            seconds: list[float] = []
            for session in (short, long):
                gc.collect()
                begun = time.process_time()
                for _ in range(150):
                    await store.append(session.id, [DRAFT])
                seconds.append(time.process_time() - begun)
            ratios.append(seconds[1] / seconds[0])
        return statistics.median(ratios)


async def size(folder: Path, rounds: int) -> int:
    """Bytes of the database after one run of so many rounds."""
    async with opened(folder) as store:
        session = await store.create()
        await store.append(session.id, [DRAFT])
        for number in range(rounds):
            for draft in round_of(number):
                await store.append(session.id, [draft])
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def round_of(number: int) -> list[Draft]:
    """An answer with four calls, and their results."""
    ids = [f"call_{number}_{call}" for call in range(work.CALLS)]
    calls = [ToolCallPart(id, "bench.look", '{"url": "http://bench.test/page", "limit": 10}') for id in ids]
    answer = Message("assistant", (TextPart("I look."), *calls), "bench", "tool_calls")
    results = Message("tool", tuple(ToolResultPart(id, "bench.look", work.RESULT) for id in ids))
    return [Draft("message", answer, "run"), Draft("message", results, "run")]


async def filled(store: SqlSessionStore) -> str:
    """A session of ten thousand entries: prompts, answers with a call, results."""
    session = await store.create()
    kinds: list[Any] = [
        user_message(work.TEXT),
        Message("assistant", (TextPart("I look."), ToolCallPart("call", "bench.look", '{"url": "x"}')), "bench", "end"),
        Message("tool", (ToolResultPart("call", "bench.look", work.TEXT),)),
    ]
    for start in range(0, ENTRIES, 500):
        drafts = [Draft("message", kinds[number % 3], "run") for number in range(start, start + 500)]
        await store.append(session.id, drafts)
    return session.id


async def reopening(folder: Path) -> dict[str, float]:
    """CPU seconds to have a session of ten thousand entries in memory: as entries, and as ORM objects."""
    from benchmarks.store.orm import load

    async with opened(folder) as store:
        session_id = await filled(store)
        seconds: dict[str, list[float]] = {"glados": [], "orm": []}
        for _ in range(7):
            gc.collect()
            begun = time.process_time()
            branch = list(await store.branch(session_id))
            seconds["glados"].append(time.process_time() - begun)
            assert len(branch) == ENTRIES
            assert all(isinstance(entry.payload, Message) for entry in branch)
            del branch
            gc.collect()
            begun = time.process_time()
            rows = load(folder / "glados.sqlite3")
            seconds["orm"].append(time.process_time() - begun)
            assert len(rows) == ENTRIES
            del rows
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}
