"""Where a run stood when its process died, read from what it has written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from glados.core import compaction
from glados.core.checks import Checked
from glados.core.child_ids import ChildId
from glados.core.errors import ToolInterrupted
from glados.core.fences import Fence
from glados.core.messages import Message, ToolCallPart, ToolResultPart, Usage, unanswered
from glados.core.outcomes import failed, part
from glados.core.questions import Question
from glados.core.results import Progress, Spent, Step
from glados.core.scope import refusal
from glados.core.sessions import Draft, Entry, SessionStore
from glados.core.tools import ToolResult

CONTINUE = "Your answer was cut short by the output limit. Go on exactly where it stopped, without repeating anything."


@dataclass(slots=True)
class Standing:
    """What is known of a run from its entries, in their order.

    `answer` is the last one of the model with nothing but results behind it, `open` the questions without an answer,
    `refused` why calls were not allowed, both by their calls; `usage` is what the last call has read and written.
    """

    progress: Progress = field(default_factory=Progress)
    seconds: float = 0.0
    model: str | None = None
    usage: Usage | None = None
    answer: Entry | None = None
    answers: list[str] = field(default_factory=list[str])
    open: dict[str, Question] = field(default_factory=dict[str, Question])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    _told: set[str] = field(default_factory=set[str])
    _questions: dict[str, Question] = field(default_factory=dict[str, Question])
    _before: str | None = None

    @classmethod
    def of(cls, branch: Sequence[Entry], run_id: str) -> Standing:
        """Read a run on its session's branch."""
        stood = cls()
        for entry in branch:
            if entry.run_id == run_id:
                stood._read(entry)
        return stood

    @property
    def stop(self) -> str | None:
        """Why its last answer is not whole, if it is not."""
        message = self.answer.payload if self.answer is not None else None
        return message.stop if isinstance(message, Message) else None

    @property
    def calls(self) -> list[ToolCallPart]:
        """The calls of its last answer that have no result."""
        message = self.answer.payload if self.answer is not None else None
        return [call for call in message.calls if call.id not in self._told] if isinstance(message, Message) else []

    @property
    def is_whole(self) -> bool:
        """Whether its last answer calls for nothing more."""
        message = self.answer.payload if self.answer is not None else None
        return isinstance(message, Message) and not message.calls

    @property
    def asked(self) -> dict[str, Question]:
        """The questions before calls, by call: one that waits for its answer has not begun."""
        waiting = {call.id for call in self.calls}
        questions = (question for question in self.open.values() if question.rule is not None)
        return {question.call_id: question for question in questions if question.call_id in waiting}

    def again(self, call: ToolCallPart, checked: Checked | ToolResult) -> Checked | ToolResult:
        """What happens to a call without a result: it is made if it had not begun, or does no harm a second time."""
        if self.stop is not None or isinstance(checked, ToolResult):
            return interrupted(call)
        if call.id in self.asked or checked.flags.read_only or checked.flags.idempotent:
            return checked
        if call.id in self.refused:
            return failed(call, refusal(call.tool_id, self.refused[call.id]))
        return interrupted(call)

    def _read(self, entry: Entry) -> None:
        for charge in entry.charges:
            spent = self.progress.spent.plus(charge.usage or Usage(), charge.cost)
            self.progress = replace(self.progress, spent=spent)
        if entry.kind != "run_resume" and self._before is not None:
            self.seconds += _seconds(self._before, entry.created_at)
        self._before = entry.created_at
        payload = entry.payload
        if isinstance(payload, Message):
            self._read_message(entry, payload)
        elif entry.kind == "model_change":
            self.model = payload.get("to")
        elif entry.kind == "compaction":
            self.usage = None
        elif entry.kind == "permission_question":
            question = Question.from_entry(payload)
            self.open[question.id] = self._questions[question.id] = question
        elif entry.kind == "permission_answer":
            self.open.pop(payload["id"], None)
            question = self._questions.get(payload["id"])
            if question is not None and question.rule is not None and payload["answer"] == "deny":
                self.refused[question.call_id] = payload["why"]

    def _read_message(self, entry: Entry, message: Message) -> None:
        progress = self.progress
        if message.role == "assistant":
            charge = entry.charges[-1] if entry.charges else None
            self.answer, self._told, self.usage = entry, set(), charge.usage if charge is not None else None
            self.answers.append(entry.id)
            model = charge.model if charge is not None else message.model or ""
            progress = progress.answered(message.text, model, self.usage)
            self.progress = replace(progress, spent=progress.spent.plus(Usage(), 0.0, turns=1))
        elif message.role == "tool":
            results = [part for part in message.parts if isinstance(part, ToolResultPart)]
            self._told.update(result.call_id for result in results)
            steps = (Step("tool", result.tool_id, result.call_id, result.code) for result in results)
            self.progress = replace(progress, steps=(*progress.steps, *steps), continued=0)
        else:
            goes_on = self.stop == "length" and message.text == CONTINUE
            self.progress = replace(progress, continued=progress.continued + 1 if goes_on else 0)
            self.answer = None


def interrupted(call: ToolCallPart) -> ToolResult:
    """The result of a call that cannot be made again, and whose own was not written down."""
    error = ToolInterrupted(
        f"The run was interrupted; whether {call.tool_id} has done its work is unknown.", tool=call.tool_id
    )
    return failed(call, error)


def withdrawn(questions: Iterable[Question], run_id: str) -> list[Draft]:
    """The answers to questions that nobody is asked any more."""
    why = "the run was interrupted"
    return [
        Draft("permission_answer", {"id": each.id, "answer": "deny", "why": why, "principal": "glados"}, run_id)
        for each in questions
    ]


def closing(branch: Sequence[Entry], run_id: str, end: dict[str, Any]) -> list[Draft]:
    """All that ends a run which was interrupted: an answer for each question, a result for each call, and the end."""
    drafts = withdrawn(Standing.of(branch, run_id).open.values(), run_id)
    if calls := unanswered(compaction.history(branch)):
        results = tuple(part(interrupted(call), Fence()) for call in calls)
        drafts.append(Draft("message", Message("tool", results), run_id))
    return [*drafts, Draft("run_end", end, run_id)]


async def spent_below(store: SessionStore, session_id: str, answers: Sequence[str] | None = None) -> tuple[Spent, int]:
    """What the agents have used that were started from these answers, or from any; and how many they are."""
    spent, number = Spent(), 0
    for child in await store.children(session_id):
        id = ChildId.parse(child.id)
        if answers is not None and (id is None or id.message not in answers):
            continue
        calls = sum(cost.calls for cost in await store.costs(child.id))
        spent = spent.plus(child.usage, child.cost, turns=calls)
        number += 1 + (await spent_below(store, child.id))[1]
    return spent, number


def _seconds(before: str, after: str) -> float:
    return max((datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds(), 0.0)
