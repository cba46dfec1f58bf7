"""openai-agents: its SQLiteSession, all sessions in one file."""

# pyright: reportMissingImports=false

from __future__ import annotations

from pathlib import Path

from agents import SQLiteSession

from benchmarks.store import work

ITEM = {"role": "user", "content": work.TEXT}


async def at_once(folder: Path) -> float:
    sessions = [SQLiteSession(f"session-{number}", folder / "sessions.db") for number in range(work.SESSIONS)]
    try:
        return await work.at_once(lambda number: sessions[number].add_items([ITEM]))
    finally:
        for session in sessions:
            session.close()


async def one_by_one(folder: Path) -> float:
    session = SQLiteSession("session", folder / "sessions.db")
    try:
        return await work.one_by_one(lambda _: session.add_items([ITEM]))
    finally:
        session.close()
