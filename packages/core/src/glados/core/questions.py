"""Questions to a person: asked, answered once, withdrawn or timed out."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from glados.core.errors import InvalidAnswer, QuestionAnswered, QuestionNotFound
from glados.core.rules import Rule

Answer = Literal["once", "session", "always", "deny"]
_REMEMBERED = 1000  # answered questions that are told apart from unknown ones


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a call goes on; `rule` is what an answer beyond this one call would allow."""

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

    def to_entry(self) -> dict[str, Any]:
        """The question as it is written down, so that it can be asked again."""
        return {**self.to_dict(), "rule": self.rule.to_dict() if self.rule else None}

    @classmethod
    def from_entry(cls, data: Mapping[str, Any]) -> Question:
        """A question that was written down."""
        rule = data.get("rule")
        facts = {name: data[name] for name in cls.__slots__ if name != "rule"}
        return cls(**facts, rule=Rule.from_dict(rule) if rule is not None else None)

    def asks_the_same(self, other: Question) -> bool:
        """Whether an answer to the one is an answer to the other."""
        return (self.call_id, self.tool_id, self.input, self.text, self.rule) == (
            other.call_id,
            other.tool_id,
            other.input,
            other.text,
            other.rule,
        )


OnQuestion = Literal["wait", "deny"] | Callable[[Question], Answer | Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Answered:
    """How a question ended."""

    answer: Answer
    principal: str
    why: str


class Questions:
    """The questions that wait; `on_answer` hears every answer of a person before the call that asked goes on."""

    def __init__(self, timeout: float, on_answer: Callable[[Question, Answer, str], None]) -> None:
        self._timeout = timeout
        self._on_answer = on_answer
        self._waiting: dict[str, tuple[Question, asyncio.Future[Answered]]] = {}
        self._answered: OrderedDict[str, str] = OrderedDict()

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
            async with asyncio.timeout(self._timeout):
                return await future
        except TimeoutError:
            how = "closed unanswered"
            return Answered("deny", "glados", f"nobody answered within {self._timeout:g} s")
        finally:
            if asking is not None:
                asking.cancel()
            self._forget(question.id, how)

    def answer(self, question_id: str, answer: Answer, principal: str) -> Question:
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
        self._on_answer(question, answer, principal)
        future.set_result(Answered(answer, principal, "a person said no" if answer == "deny" else "a person said yes"))
        return question

    async def _put(self, question: Question, on_question: Callable[[Question], Answer | Awaitable[Answer]]) -> None:
        """Ask through the caller's own function; one that fails is a no."""
        try:
            given = on_question(question)
            answer = given if isinstance(given, str) else await given
            self.answer(question.id, answer, "local")
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
