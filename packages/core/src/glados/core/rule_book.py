"""The rules that people's answers made, as they were last read from where they are kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glados.core import foreign
from glados.core.errors import RuleNotFound
from glados.core.rule_store import RuleStore, StoredRule
from glados.core.rules import Rule

log = logging.getLogger("glados.permissions")
STORE_TIMEOUT = 10.0  # seconds that a rule store may take


@dataclass(frozen=True, slots=True)
class _Page:
    """Some rules, and as what they are decided by."""

    stored: tuple[StoredRule, ...] = ()
    rules: tuple[Rule, ...] = ()


def _page(stored: Sequence[StoredRule]) -> _Page:
    return _Page(tuple(stored), tuple(each.rule for each in stored))


_EMPTY = _Page()


class RuleBook:
    """Rules for good and of sessions; another process may change them, so they are read anew before each run."""

    def __init__(self, store: Callable[[], RuleStore]) -> None:
        self._store = store
        self._for_good = _EMPTY
        self._of_sessions: dict[str, _Page] = {}
        self._unkept: dict[str, StoredRule] = {}  # those that the store has not taken yet, or failed to take
        self._turn = asyncio.Lock()  # what is read must not miss what is being kept

    @property
    def for_good(self) -> tuple[Rule, ...]:
        """The rules that hold everywhere."""
        return self._for_good.rules

    def of_session(self, session_id: str) -> tuple[Rule, ...]:
        """The rules that hold in one session."""
        return self._of_sessions.get(session_id, _EMPTY).rules

    async def read(self, session_id: str | None = None) -> list[StoredRule]:
        """Read the rules for good and those of a session anew; a store that fails lets nothing begin."""
        async with self._turn:
            loaded = await foreign.call("The rule store", self._store().load, STORE_TIMEOUT, session_id)
            found = [*loaded, *(each for each in self._unkept.values() if each.session_id in (None, session_id))]
            self._put(None, [each for each in found if each.session_id is None])
            if session_id is not None:
                self._put(session_id, [each for each in found if each.session_id == session_id])
            return found

    def hold(self, stored: StoredRule) -> bool:
        """Let a rule hold from now on, before it is kept; False if one holds already that says the same."""
        page = self._page_of(stored.session_id)
        if stored.rule in page.rules:
            return False
        self._unkept[stored.id] = stored
        self._put(stored.session_id, [*page.stored, stored])
        return True

    async def keep(self, stored: StoredRule) -> None:
        """Store a rule that holds; one that cannot be stored holds until the process ends, and that is told."""
        async with self._turn:
            _, error = await foreign.outcome("The rule store", self._store().add, STORE_TIMEOUT, stored)
            if error is None:
                self._unkept.pop(stored.id, None)
                return
            told, rule = foreign.failure("The rule store", error).message, stored.rule
            log.warning("the rule '%s %s' holds only until glados stops: %s", rule.effect, rule, told)

    async def take_back(self, id: str) -> None:
        """Forget a rule, and those of sessions that say the same."""
        async with self._turn:
            known = [*self._for_good.stored, *(each for page in self._of_sessions.values() for each in page.stored)]
            taken = next((each.rule for each in known if each.id == id), None)
            gone = {id} | {each.id for each in known if taken is not None and _says(each.rule) == _says(taken)}
            removed = taken is not None
            for each in gone:
                self._unkept.pop(each, None)
                removed |= await foreign.call("The rule store", self._store().remove, STORE_TIMEOUT, each)
            for session_id in (None, *list(self._of_sessions)):
                self._put(session_id, [each for each in self._page_of(session_id).stored if each.id not in gone])
        if not removed:
            raise RuleNotFound(f"There is no rule {id!r}: list those that were given.", rule_id=id)

    async def forget_session(self, session_id: str) -> None:
        """Drop the rules of a session that is gone."""
        self._of_sessions.pop(session_id, None)
        self._unkept = {id: each for id, each in self._unkept.items() if each.session_id != session_id}
        await foreign.call("The rule store", self._store().forget_session, STORE_TIMEOUT, session_id)

    def _page_of(self, session_id: str | None) -> _Page:
        return self._for_good if session_id is None else self._of_sessions.get(session_id, _EMPTY)

    def _put(self, session_id: str | None, stored: Sequence[StoredRule]) -> None:
        if session_id is None:
            self._for_good = _page(stored)
        elif stored:
            self._of_sessions[session_id] = _page(stored)
        else:
            self._of_sessions.pop(session_id, None)


def _says(rule: Rule) -> tuple[object, ...]:
    return rule.effect, rule.tool, rule.fields
