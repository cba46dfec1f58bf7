"""Who may do what: rules with their source, modes, the decision, and questions to a person."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, field_validator

from glados.core.errors import ConfigurationError, InvalidAnswer, QuestionAnswered, QuestionNotFound
from glados.core.tools import ToolFlags

Effect = Literal["allow", "ask", "deny"]
Mode = Literal["default", "plan", "auto", "bypass"]
Source = Literal["policy", "project", "user", "run", "session"]
Answer = Literal["once", "session", "deny"]

_RULE = re.compile(r"\s*(?P<tool>[a-z0-9*_.-]+)\s*(?:\((?P<fields>.*)\))?\s*", re.DOTALL)
_REMEMBERED = 1000  # answered questions that are told apart from unknown ones

_TABLE: dict[Mode, tuple[Effect, Effect, Effect]] = {
    #          read-only, changes something, destructive
    "default": ("allow", "ask", "ask"),
    "plan": ("allow", "deny", "deny"),
    "auto": ("allow", "deny", "deny"),
    "bypass": ("allow", "allow", "allow"),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """`web-fetch.fetch(domain=*.python.org)`: a tool id and fields of its input, in which `*` stands for anything.

    An exact rule is made from a call: a `*` that the model wrote there is only a `*`.
    """

    effect: Effect
    tool: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    source: Source = "user"
    exact: bool = False

    @classmethod
    def parse(cls, text: str, effect: Effect, source: Source = "user") -> Rule:
        """Read a rule as settings and the command line write it."""
        match = _RULE.fullmatch(text)
        if match is None:
            raise ConfigurationError(
                f"{text!r} is no rule: write 'tool-id' or 'tool-id(field=value, …)'; * is a wildcard."
            )
        fields: dict[str, str] = {}
        for item in filter(None, (match["fields"] or "").split(",")):
            name, equals, value = item.partition("=")
            if not equals or not name.strip():
                raise ConfigurationError(f"{item.strip()!r} in the rule {text!r} is no field: write field=value.")
            fields[name.strip()] = value.strip()
        return cls(effect, match["tool"], fields, source)

    def matches(self, tool_id: str, fields: Mapping[str, str]) -> bool:
        """Whether it speaks of this call; a field that the call lacks never matches."""
        if self.exact:
            return self.tool == tool_id and all(fields.get(name) == value for name, value in self.fields.items())
        return _glob(self.tool).fullmatch(tool_id) is not None and all(
            name in fields and _glob(pattern).fullmatch(fields[name]) for name, pattern in self.fields.items()
        )

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.tool}({inner})" if inner else self.tool


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    first, *rest = (re.escape(part) for part in pattern.split("*"))
    if not rest:
        return re.compile(first)
    *middle, last = rest
    # each star but the last takes as little as it can and never tries again: the time stays linear in the value
    return re.compile(first + "".join(f"(?>.*?{part})" for part in middle) + f".*{last}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided of one call, and why."""

    effect: Effect
    why: str


def decide(rules: Iterable[Rule], mode: Mode, tool_id: str, flags: ToolFlags, fields: Mapping[str, str]) -> Decision:
    """Any matching deny, then any ask, then any allow; where no rule matches, the mode."""
    found: dict[Effect, Rule] = {}
    for rule in rules:
        if rule.source == "project" and rule.effect == "allow":
            continue  # a project may only tighten
        if rule.effect not in found and rule.matches(tool_id, fields):
            found[rule.effect] = rule
    for effect in ("deny", "ask", "allow"):
        if effect in found:
            return Decision(effect, f"the {found[effect].source} rule '{effect} {found[effect]}' says so")
    column = 0 if flags.read_only else 2 if flags.destructive else 1
    kind = ("only reads", "changes something", "may destroy something")[column]
    return Decision(_TABLE[mode][column], f"{tool_id} {kind} and the permission mode is '{mode}'")


class PermissionsSettings(BaseModel):
    """What the agent may do without asking."""

    mode: Mode = Field(
        default="default", description="default asks before changes; plan and auto deny them; bypass allows."
    )
    timeout: float = Field(
        default=300.0, gt=0, le=86_400, description="Seconds until an unanswered question is denied."
    )
    allow: list[str] = Field(
        default_factory=list, description="Rules that allow, such as web-fetch.fetch(domain=*.org)."
    )
    ask: list[str] = Field(default_factory=list, description="Rules that ask a person.")
    deny: list[str] = Field(default_factory=list, description="Rules that deny; any deny wins over any ask or allow.")

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _rules(cls, value: list[str]) -> list[str]:
        for text in value:
            try:
                Rule.parse(text, "ask")
            except ConfigurationError as error:
                raise ValueError(error.message.rstrip(".")) from None
        return value

    def rules(self) -> list[Rule]:
        """The three lists as rules of the user."""
        return [Rule.parse(text, effect) for effect in get_args(Effect) for text in getattr(self, effect)]


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a call goes on."""

    id: str
    session_id: str | None
    run_id: str | None
    call_id: str
    tool_id: str
    input: dict[str, Any]
    text: str
    why: str
    created_at: str
    rule: Rule | None = None

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON; `session_rule` is what an answer for the session would allow."""
        data = {name: getattr(self, name) for name in self.__slots__ if name != "rule"}
        return {**data, "session_rule": str(self.rule) if self.rule else None}


OnQuestion = Literal["wait", "deny"] | Callable[[Question], Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Answered:
    """How a question ended."""

    answer: Answer
    principal: str
    why: str


class PermissionService:
    """Holds the rules, and the questions that wait for an answer."""

    def __init__(self, settings: PermissionsSettings) -> None:
        self.settings = settings
        self._rules = settings.rules()
        self._session_rules: dict[str, list[Rule]] = {}
        self._waiting: dict[str, tuple[Question, asyncio.Future[Answered]]] = {}
        self._answered: OrderedDict[str, str] = OrderedDict()

    def decide(self, session_id: str | None, tool_id: str, flags: ToolFlags, fields: Mapping[str, str]) -> Decision:
        """The decision on one call, with the rules of its session."""
        rules = (*self._rules, *self._session_rules.get(session_id or "", ()))
        return decide(rules, self.settings.mode, tool_id, flags, fields)

    def pending(self) -> list[Question]:
        """The questions that wait, the oldest first."""
        return [question for question, _ in self._waiting.values()]

    def open(self, question: Question) -> asyncio.Future[Answered]:
        """Let a question be answered, before anybody is told of it."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting[question.id] = (question, future)
        return future

    async def wait(self, question: Question, future: asyncio.Future[Answered], on_question: OnQuestion) -> Answered:
        """Wait for the answer of whoever is there; no answer in time is a no."""
        asking = None if isinstance(on_question, str) else asyncio.ensure_future(self._put(question, on_question))
        how = "withdrawn"
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await future
        except TimeoutError:
            how = "closed unanswered"
            return Answered("deny", "glados", f"nobody answered within {self.settings.timeout:g} s")
        finally:
            if asking is not None:
                asking.cancel()
            self._forget(question.id, how)

    def answer(self, question_id: str, answer: Answer, principal: str = "local") -> Question:
        """Answer a question, once; whoever comes second is told so."""
        if answer not in get_args(Answer):
            raise InvalidAnswer(f"{answer!r} is no answer: give one of {', '.join(get_args(Answer))}.")
        if question_id not in self._waiting:
            if question_id in self._answered:
                raise QuestionAnswered(
                    f"Question {question_id!r} was {self._answered[question_id]} before.", question_id=question_id
                )
            raise QuestionNotFound(
                f"There is no question {question_id!r}: list the open ones.", question_id=question_id
            )
        question, future = self._waiting[question_id]
        if future.done():  # its time ran out, and whoever waits has not noticed yet
            raise QuestionAnswered(f"Question {question_id!r} was closed before.", question_id=question_id)
        self._forget(question_id, "answered")
        if answer == "session" and question.session_id is not None and question.rule is not None:
            self._session_rules.setdefault(question.session_id, []).append(question.rule)
        future.set_result(Answered(answer, principal, "a person said no" if answer == "deny" else "a person said yes"))
        return question

    def forget_session(self, session_id: str) -> None:
        """Drop what was allowed for a session that is gone."""
        self._session_rules.pop(session_id, None)

    async def _put(self, question: Question, on_question: Callable[[Question], Answer | Awaitable[Answer]]) -> None:
        """Ask through the caller's own function; one that fails is a no."""
        try:
            given = on_question(question)
            answer = given if isinstance(given, str) else await given
            self.answer(question.id, answer)
        except (QuestionAnswered, QuestionNotFound):
            return  # somebody else was faster
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            _, future = self._waiting.get(question.id, (None, None))
            if future is not None and not future.done():
                self._forget(question.id, "answered")
                future.set_result(Answered("deny", "glados", f"asking failed with {type(error).__name__}: {error}"))

    def _forget(self, question_id: str, how: str) -> None:
        if self._waiting.pop(question_id, None) is not None:
            self._answered[question_id] = how
            while len(self._answered) > _REMEMBERED:
                self._answered.popitem(last=False)
