"""Rules given for good, in a file of the data directory: they outlast the process that asked."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glados.core.errors import ConfigurationError
from glados.core.rule_store import StoredRule
from glados.core.rules import Rule
from glados.core.sessions import new_id


class FileRuleStore:
    """A JSON file that is replaced as a whole; two processes that write at once do so one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def load(self) -> list[StoredRule]:
        """Every rule, the oldest first."""
        return await asyncio.to_thread(self._read)

    async def add(self, rule: Rule, principal: str, when: str) -> StoredRule:
        """Keep a rule."""
        stored = StoredRule(new_id(), rule, principal, when)
        await asyncio.to_thread(self._change, lambda rules: [*rules, stored])
        return stored

    async def remove(self, id: str) -> None:
        """Forget a rule; one that is not there is gone already."""
        await asyncio.to_thread(self._change, lambda rules: [stored for stored in rules if stored.id != id])

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

    def _change(self, change: Callable[[list[StoredRule]], list[StoredRule]]) -> None:
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # freed by the system when this process ends, however it ends
            rules = [_item(stored) for stored in change(self._read())]
            draft = self._path.with_suffix(f".{os.getpid()}.draft")
            draft.touch(0o600)
            with draft.open("w", encoding="utf-8") as file:
                json.dump(rules, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)


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
