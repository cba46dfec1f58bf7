"""Who may do what: the rules that hold, the decision on a call, and what answers change about them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from glados.core import foreign
from glados.core.errors import ConfigurationError, RuleNotFound
from glados.core.questions import Answer, Answered, OnQuestion, Question, Questions
from glados.core.rule_store import MemoryRuleStore, RuleStore, StoredRule
from glados.core.rules import Decision, Effect, Mode, Rights, Rule, as_text, decide
from glados.core.sessions import new_id, timestamp
from glados.core.shielding import to_the_end
from glados.core.tools import ToolFlags

log = logging.getLogger("glados.permissions")
STORE_TIMEOUT = 10.0  # seconds that a rule store may take


class PermissionsSettings(BaseModel):
    """What the agent may do without asking."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

    mode: Mode = Field(
        default="default", description="default asks before changes; plan and auto deny them; bypass allows."
    )
    timeout: float = Field(
        default=300.0, gt=0, le=86_400, description="Seconds until an unanswered question is denied."
    )
    allow: list[str] = Field(
        default_factory=list, description="Rules that allow, such as web-fetch.fetch(domain=*.org) even_if_tainted."
    )
    ask: list[str] = Field(default_factory=list, description="Rules that ask a person.")
    deny: list[str] = Field(default_factory=list, description="Rules that deny; any deny wins over any ask or allow.")

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _rules(cls, value: list[str], info: ValidationInfo) -> list[str]:
        effect = next(effect for effect in get_args(Effect) if effect == info.field_name)
        for text in value:
            try:
                Rule.parse(text, effect)
            except ConfigurationError as error:
                raise ValueError(error.message.rstrip(".")) from None
        return value

    def rules(self) -> list[Rule]:
        """The three lists as rules of the user."""
        return [Rule.parse(text, effect) for effect in get_args(Effect) for text in getattr(self, effect)]


class PermissionService:
    """Holds the rules of the settings, those given for good, those of sessions, and the questions that wait."""

    def __init__(self, settings: PermissionsSettings, store: Callable[[], RuleStore] | None = None) -> None:
        self.settings = settings
        memory = MemoryRuleStore()
        self._store = store if store is not None else lambda: memory
        self._from_settings = tuple(settings.rules())
        self._stored: dict[str, StoredRule] = {}
        self._standing = self._from_settings
        self._session_rules: dict[str, list[Rule]] = {}
        self._unsaved: dict[str, tuple[Rule, str, str]] = {}
        self._saving = asyncio.Lock()
        self._questions = Questions(settings.timeout, self._remember)

    async def load(self) -> None:
        """Read the rules that were given for good; called once, when every plugin is set up."""
        loaded = await foreign.call("The rule store", self._store().load, STORE_TIMEOUT)
        self._stored = {stored.id: stored for stored in loaded}
        self._changed()

    def decide(
        self,
        session_id: str | None,
        tool_id: str,
        flags: ToolFlags,
        fields: Mapping[str, str],
        *,
        rights: Sequence[Rights] = (),
        tainted: bool = False,
    ) -> Decision:
        """The decision on one call, with the rules of its session and inside the ceilings of its agents."""
        own = self._session_rules.get(session_id) if session_id is not None else None
        rules = (*self._standing, *own) if own else self._standing
        return decide(rules, self.settings.mode, tool_id, flags, fields, rights=rights, tainted=tainted)

    def ceiling(self, session_id: str) -> Rights:
        """What a person refused in a session, for the agents that it starts: they may not do it either."""
        return Rights(rules=tuple(rule for rule in self._session_rules.get(session_id, ()) if rule.effect == "deny"))

    def hand_up(self, child_id: str, parent_id: str) -> None:
        """Remember in a session what a person refused to an agent that it started: the next one is not to ask again."""
        known = self._session_rules.get(parent_id, ())
        for rule in [rule for rule in self.ceiling(child_id).rules if rule not in known]:
            self._add(parent_id, rule)

    def rules(self) -> list[StoredRule]:
        """The rules that were given for good: what, by whom and when; the oldest first."""
        return list(self._stored.values())

    async def revoke(self, id: str) -> StoredRule:
        """Take a rule back that was given for good, also where a session took it over."""
        stored = self._stored.pop(id, None)
        if stored is None:
            raise RuleNotFound(f"There is no rule {id!r}: list those that were given for good.", rule_id=id)
        self._changed()
        taken = stored.rule
        for rules in self._session_rules.values():
            rules[:] = [r for r in rules if (r.effect, r.tool, r.fields) != (taken.effect, taken.tool, taken.fields)]
        await foreign.call("The rule store", self._store().remove, STORE_TIMEOUT, id)
        return stored

    def pending(self) -> list[Question]:
        """The questions that wait, the oldest first."""
        return self._questions.pending()

    def open(self, question: Question) -> asyncio.Future[Answered]:
        """Let a question be answered, before anybody is told of it."""
        return self._questions.open(question)

    async def wait(self, question: Question, future: asyncio.Future[Answered], on_question: OnQuestion) -> Answered:
        """Wait for the answer; one that is given for good is stored before the call goes on, or is aborted."""
        try:
            return await self._questions.wait(question, future, on_question)
        finally:
            unsaved = self._unsaved.pop(question.id, None)
            if unsaved is not None:
                await to_the_end(self._save(*unsaved))

    def answer(self, question_id: str, answer: Answer, principal: str = "local") -> Question:
        """Answer a question, once; whoever comes second is told so."""
        return self._questions.answer(question_id, answer, principal)

    def forget_session(self, session_id: str) -> None:
        """Drop what was allowed and refused in a session that is gone."""
        self._session_rules.pop(session_id, None)

    def _remember(self, question: Question, answer: Answer, principal: str) -> None:
        """Make the rule that an answer asks for; a tool's own question makes none."""
        rule = question.rule
        if rule is None or answer == "once":
            return
        if answer == "deny":
            fields = rule.fields or as_text(question.input)
            self._add(question.session_id, Rule("deny", question.tool_id, fields, "session", exact=True))
            return
        if answer == "session" or rule.even_if_tainted:
            self._add(question.session_id, rule)
        if answer == "always":
            # One answer says nothing about the untrusted content of sessions to come.
            lasting = replace(rule, source="user", even_if_tainted=False)
            self._unsaved[question.id] = (lasting, principal, timestamp())

    def _add(self, session_id: str | None, rule: Rule) -> None:
        if session_id is not None:
            self._session_rules.setdefault(session_id, []).append(rule)

    async def _save(self, rule: Rule, principal: str, when: str) -> None:
        async with self._saving:
            if any(stored.rule == rule for stored in self._stored.values()):
                return
            add = self._store().add
            stored, error = await foreign.outcome("The rule store", add, STORE_TIMEOUT, rule, principal, when)
            if error is not None:
                told = foreign.failure("The rule store", error).message
                log.warning("the rule 'allow %s' holds only until glados stops: %s", rule, told)
                stored = StoredRule(new_id(), rule, principal, when)
            self._stored[stored.id] = stored
            self._changed()

    def _changed(self) -> None:
        self._standing = (*self._from_settings, *(stored.rule for stored in self._stored.values()))
