"""Permission rules in a table: what people answered for good or for a session, with who and when."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from glados.conversations.order import take_turn
from glados.conversations.rows import is_storable
from glados.core.rule_file import FileRuleStore
from glados.core.rule_store import StoredRule
from glados.core.rules import Rule
from glados.database import Connection, DatabaseService

_COLUMNS = "id, rule, principal, created_at, session_id"
_LOAD = f"SELECT {_COLUMNS} FROM conversations_rules WHERE session_id IS NULL OR session_id = ? ORDER BY number"
_ADD = f"INSERT INTO conversations_rules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"


class SqlRuleStore:
    """Rules that outlast the process; those of a session go with it."""

    def __init__(self, database: DatabaseService) -> None:
        self._database = database

    async def load(self, session_id: str | None = None) -> list[StoredRule]:
        """The rules given for good, and those of that session, the oldest first."""
        known = session_id if session_id is not None and is_storable(session_id) else ""
        rows = await self._database.query(lambda connection: connection.execute(_LOAD, (known,)).fetchall())
        return [_stored(row) for row in rows]

    async def add(self, stored: StoredRule) -> None:
        """Keep a rule."""
        rule = json.dumps(asdict(stored.rule))
        values = (stored.id, rule, stored.principal, stored.created_at, stored.session_id)
        await self._execute(_ADD, values)

    async def remove(self, id: str) -> bool:
        """Forget a rule; False if it is not there."""
        return is_storable(id) and await self._execute("DELETE FROM conversations_rules WHERE id = ?", (id,)) == 1

    async def forget_session(self, session_id: str) -> None:
        """Forget the rules of a session that is deleted."""
        await self._execute("DELETE FROM conversations_rules WHERE session_id = ?", (session_id,))

    async def take_over(self, path: Path) -> None:
        """Take in the rules of the file that kept them before, once: afterwards the file has another name."""
        if await asyncio.to_thread(path.exists):
            for stored in await FileRuleStore(path).load():
                await self.add(stored)
            await asyncio.to_thread(path.rename, path.with_suffix(".taken.json"))

    async def _execute(self, statement: str, values: tuple[Any, ...]) -> int:
        def change(connection: Connection) -> int:
            take_turn(connection)
            return connection.execute(statement, values).rowcount

        return await self._database.commit(change)


def _stored(row: Any) -> StoredRule:
    id, rule, principal, created_at, session_id = row
    return StoredRule(id, Rule(**json.loads(rule)), principal, created_at, session_id)
