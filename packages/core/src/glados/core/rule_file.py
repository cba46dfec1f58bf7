"""Rules given for good, in a file of the data directory: they outlast the process that asked.

Those of sessions last as long as sessions do here: as the process.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glados.core.errors import ConfigurationError
from glados.core.rule_store import MemoryRuleStore, StoredRule
from glados.core.rules import Rule


class FileRuleStore:
    """A JSON file that is replaced as a whole; two processes that write at once do so one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of_sessions = MemoryRuleStore()

    async def load(self, session_id: str | None = None) -> list[StoredRule]:
        """The rules given for good, and those of that session."""
        return [*await asyncio.to_thread(self._read), *await self._of_sessions.load(session_id)]

    async def add(self, stored: StoredRule) -> None:
        """Keep a rule."""
        if stored.session_id is not None:
            await self._of_sessions.add(stored)
        else:
            await asyncio.to_thread(self._change, lambda rules: [*rules, stored])

    async def remove(self, id: str) -> bool:
        """Forget a rule."""
        if await self._of_sessions.remove(id):
            return True
        return await asyncio.to_thread(self._change, lambda rules: [stored for stored in rules if stored.id != id])

    async def forget_session(self, session_id: str) -> None:
        """Forget the rules of a session."""
        await self._of_sessions.forget_session(session_id)

    def _read(self) -> list[StoredRule]:
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"The rules in {str(self._path)!r} cannot be read: {error}.") from None
        try:
            return [_stored(item) for item in json.loads(text)]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigurationError(
                f"{str(self._path)!r} does not hold rules ({type(error).__name__}: {error}): mend it, or delete it to"
                " be asked again."
            ) from None

    def _change(self, change: Callable[[list[StoredRule]], list[StoredRule]]) -> bool:
        """Replace the file; says whether that changed anything."""
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # freed by the system when this process ends, however it ends
            before = self._read()
            after = change(before)
            if after == before:
                return False
            draft = self._path.with_suffix(f".{os.getpid()}.draft")
            draft.touch(0o600)
            with draft.open("w", encoding="utf-8") as file:
                json.dump([_item(stored) for stored in after], file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        return True


def _item(stored: StoredRule) -> dict[str, Any]:
    rule = stored.rule
    return {
        "id": stored.id,
        "effect": rule.effect,
        "tool": rule.tool,
        "fields": dict(rule.fields),
        "principal": stored.principal,
        "created_at": stored.created_at,
    }


def _stored(item: dict[str, Any]) -> StoredRule:
    """A rule as it was kept; those given for good are exact and come from the user."""
    if item["effect"] not in ("allow", "ask", "deny"):
        raise ValueError(f"{item['effect']!r} is no effect")
    fields = {str(name): str(value) for name, value in item["fields"].items()}
    rule = Rule(item["effect"], str(item["tool"]), fields, "user", exact=True)
    return StoredRule(str(item["id"]), rule, str(item["principal"]), str(item["created_at"]))
