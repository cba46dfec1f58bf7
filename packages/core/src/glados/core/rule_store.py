"""Rules that were given for good, and the seam behind which they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from glados.core.rules import Rule
from glados.core.sessions import new_id


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule that a person gave for good: who, and when."""

    id: str
    rule: Rule
    principal: str
    created_at: str

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {
            "id": self.id,
            "effect": self.rule.effect,
            "rule": str(self.rule),
            "principal": self.principal,
            "created_at": self.created_at,
        }


class RuleStore(Protocol):
    """Where rules are kept, a file by default; `services.provide(RuleStore, …, replace=True)` brings another."""

    async def load(self) -> list[StoredRule]: ...

    async def add(self, rule: Rule, principal: str, when: str) -> StoredRule: ...

    async def remove(self, id: str) -> None: ...


class MemoryRuleStore:
    """Rules that last as long as the process."""

    def __init__(self) -> None:
        self._rules: dict[str, StoredRule] = {}

    async def load(self) -> list[StoredRule]:
        """Every rule, the oldest first."""
        return list(self._rules.values())

    async def add(self, rule: Rule, principal: str, when: str) -> StoredRule:
        """Keep a rule."""
        stored = StoredRule(new_id(), rule, principal, when)
        self._rules[stored.id] = stored
        return stored

    async def remove(self, id: str) -> None:
        """Forget a rule; one that is not there is gone already."""
        self._rules.pop(id, None)
