"""Rules that people's answers made, for good or for a session, and the seam behind which they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from glados.core.rules import Rule


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule that a person gave, for good or for one session: who, and when."""

    id: str
    rule: Rule
    principal: str
    created_at: str
    session_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {
            "id": self.id,
            "effect": self.rule.effect,
            "rule": str(self.rule),
            "principal": self.principal,
            "created_at": self.created_at,
            "session_id": self.session_id,
        }


class RuleStore(Protocol):
    """Where rules are kept, a file by default; `services.provide(RuleStore, …, replace=True)` brings another."""

    async def load(self, session_id: str | None = None) -> list[StoredRule]:
        """The rules given for good, and those of that session, the oldest first."""
        ...

    async def add(self, stored: StoredRule) -> None:
        """Keep a rule."""
        ...

    async def remove(self, id: str) -> bool:
        """Forget a rule; False if it is not there."""
        ...

    async def forget_session(self, session_id: str) -> None:
        """Forget the rules of a session that is deleted."""
        ...


class MemoryRuleStore:
    """Rules that last as long as the process."""

    def __init__(self) -> None:
        self._rules: dict[str, StoredRule] = {}

    async def load(self, session_id: str | None = None) -> list[StoredRule]:
        """The rules given for good, and those of that session."""
        return [stored for stored in self._rules.values() if stored.session_id in (None, session_id)]

    async def add(self, stored: StoredRule) -> None:
        """Keep a rule."""
        self._rules[stored.id] = stored

    async def remove(self, id: str) -> bool:
        """Forget a rule."""
        return self._rules.pop(id, None) is not None

    async def forget_session(self, session_id: str) -> None:
        """Forget the rules of a session."""
        self._rules = {id: stored for id, stored in self._rules.items() if stored.session_id != session_id}
