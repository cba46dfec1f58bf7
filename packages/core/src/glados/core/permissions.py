"""Who may do what: the rules that hold, the decision on a call, and what answers change about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from glados.core.errors import ConfigurationError
from glados.core.questions import Answer, Answered, OnQuestion, Question, Questions
from glados.core.rule_book import RuleBook
from glados.core.rule_store import MemoryRuleStore, RuleStore, StoredRule
from glados.core.rules import Decision, Effect, Mode, Rights, Rule, as_text, decide
from glados.core.sessions import new_id, timestamp
from glados.core.shielding import to_the_end
from glados.core.tools import ToolFlags


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
    """Holds the rules of the settings, those that answers made, and the questions that wait."""

    def __init__(self, settings: PermissionsSettings, store: Callable[[], RuleStore] | None = None) -> None:
        self.settings = settings
        memory = MemoryRuleStore()
        self._from_settings = tuple(settings.rules())
        self._book = RuleBook(store if store is not None else lambda: memory)
        self._unsaved: dict[str, list[StoredRule]] = {}
        self._questions = Questions(settings.timeout, self._remember)

    async def rules(self, session_id: str | None = None) -> list[StoredRule]:
        """The rules that were given for good, and those of a session: what, by whom and when; the oldest first.

        They are read anew, and hold as they were read: called before every run and every call.
        """
        return await self._book.read(session_id)

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
        own = self._book.of_session(session_id) if session_id is not None else ()
        rules = (*self._from_settings, *self._book.for_good, *own)
        return decide(rules, self.settings.mode, tool_id, flags, fields, rights=rights, tainted=tainted)

    def ceiling(self, session_id: str) -> Rights:
        """What a person refused in a session, for the agents that it starts: they may not do it either."""
        return Rights(rules=tuple(rule for rule in self._book.of_session(session_id) if rule.effect == "deny"))

    async def hand_up(self, child_id: str, parent_id: str) -> None:
        """Remember in a session what a person refused to an agent that it started: the next one is not to ask again."""
        for rule in self.ceiling(child_id).rules:
            stored = StoredRule(new_id(), rule, "local", timestamp(), parent_id)
            if self._book.hold(stored):
                await self._book.keep(stored)

    async def revoke(self, id: str) -> None:
        """Take a rule back that an answer made; one for good also where a session took it over."""
        await self._book.take_back(id)

    def pending(self) -> list[Question]:
        """The questions that wait, the oldest first."""
        return self._questions.pending()

    def open(self, question: Question) -> asyncio.Future[Answered]:
        """Let a question be answered, before anybody is told of it."""
        return self._questions.open(question)

    async def wait(self, question: Question, future: asyncio.Future[Answered], on_question: OnQuestion) -> Answered:
        """Wait for the answer; a rule that it makes is stored before the call goes on, or is aborted."""
        try:
            return await self._questions.wait(question, future, on_question)
        finally:
            for stored in self._unsaved.pop(question.id, ()):
                await to_the_end(self._book.keep(stored))

    def answer(self, question_id: str, answer: Answer, principal: str = "local") -> Question:
        """Answer a question, once; whoever comes second is told so."""
        return self._questions.answer(question_id, answer, principal)

    async def forget_session(self, session_id: str) -> None:
        """Drop what was allowed and refused in a session that is gone."""
        await self._book.forget_session(session_id)

    def _remember(self, question: Question, answer: Answer, principal: str) -> None:
        """Make the rule that an answer asks for; a tool's own question makes none."""
        rule, now = question.rule, timestamp()
        if rule is None or answer == "once":
            return
        given: list[tuple[Rule, str | None]] = []
        if answer == "always":
            # One answer says nothing about the untrusted content of sessions to come.
            given.append((replace(rule, source="user", even_if_tainted=False), None))
        elif answer == "deny":
            rule = Rule("deny", question.tool_id, rule.fields or as_text(question.input), "session", exact=True)
        if question.session_id is not None and (answer != "always" or rule.even_if_tainted):
            given.append((rule, question.session_id))
        stored = [StoredRule(new_id(), rule, principal, now, session_id) for rule, session_id in given]
        self._unsaved[question.id] = [each for each in stored if self._book.hold(each)]
