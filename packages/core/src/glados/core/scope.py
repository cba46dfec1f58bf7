"""Where a tool call comes from, and what it can ask for from there: progress, questions, other tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from glados.core.errors import PermissionDenied, ToolAborted, ToolError
from glados.core.events import Event, PermissionGranted, PermissionRefused, PermissionRequested, ToolProgress
from glados.core.messages import ToolCallPart, well_formed
from glados.core.notices import MAX_NOTES, Note
from glados.core.outcomes import output_of
from glados.core.permissions import PermissionService
from glados.core.progress import Pace
from glados.core.questions import Answered, OnQuestion, Question
from glados.core.rules import CallFields, Rights, Rule
from glados.core.session_entries import SessionEntry, draft_of
from glados.core.sessions import Draft, Entry, EntryKind, new_id, timestamp
from glados.core.tools import PermissionRequest, Tool, ToolContext, ToolFlags, ToolResult

if TYPE_CHECKING:
    from glados.core.agents import Agent
    from glados.core.results import RunResult

MAX_DEPTH = 8  # tools that call tools that call tools


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Scope:
    """The session and run of a call, its tools, who is asked and who is told."""

    tools: Mapping[str, Tool]
    on_question: OnQuestion
    publish: Callable[[Event], None]
    record: Callable[[Draft], Awaitable[Entry]] | None = None
    session_id: str | None = None
    run_id: str | None = None
    next_n: Callable[[], int] | None = None
    approve: bool = False
    depth: int = 0
    run_child: Callable[[Agent, str, ScopedHost, str], Awaitable[RunResult]] | None = None
    rights: tuple[Rights, ...] = ()
    tainted: Callable[[], bool] = _never
    asked: dict[str, Question] | None = None  # what was asked by call before the run was resumed
    branch: Callable[[], Sequence[Entry]] | None = None

    def told(self) -> dict[str, Any]:
        """The fields of an event that is told here but not stored."""
        n = self.next_n() if self.next_n is not None else None
        return {"session_id": self.session_id, "run_id": self.run_id, "n": n}

    def stored(self, entry: Entry | None) -> dict[str, Any]:
        """The fields of an event that is stored as an entry."""
        return {"session_id": self.session_id, "run_id": self.run_id, "seq": entry.seq if entry else None}


@dataclass(slots=True)
class ScopedHost:
    """The host of a running call: its questions and its own calls stay in the scope of the call.

    Once the call is over it does nothing more, for code that was left behind because it would not end.
    """

    scope: Scope
    permissions: PermissionService
    call_inner: Callable[[ToolCallPart, Scope], Awaitable[ToolResult]]
    begun: bool = False
    over: bool = False
    untrusted: bool = False
    notes: tuple[Note, ...] = ()
    pace: Pace | None = None
    children: int = 0

    async def progress(self, ctx: ToolContext, message: str, done: float | None, total: float | None) -> None:
        """Tell it, without storing it; one that comes too soon waits, and gives way to the next."""
        self._check_open(ctx)
        self.pace = self.pace or Pace()
        text = well_formed(message)
        facts = {"call_id": ctx.call_id, "tool_id": ctx.tool_id, "message": text, "done": done, "total": total}
        self.pace.tell(lambda: self.scope.publish(ToolProgress(**facts, **self.scope.told())))

    def note(self, note: Note) -> None:
        """Keep a fact about the result; too many are as good as none."""
        if not self.over and len(self.notes) < MAX_NOTES:
            self.notes = (*self.notes, note)

    def mark_untrusted(self) -> None:
        """What the call gives is from outside."""
        self.untrusted = True

    def close(self) -> None:
        """The call is over: its last progress is told, and nothing follows."""
        self.over = True
        if self.pace is not None:
            self.pace.flush()

    async def ask(self, ctx: ToolContext, text: str) -> bool:
        """Ask the person something of the tool's own."""
        self._check_open(ctx)
        answered = await self._ask(ctx, {}, text, "the tool itself asks", None)
        return answered.answer != "deny"

    async def call(self, ctx: ToolContext, tool_id: str, input: Mapping[str, Any]) -> dict[str, Any]:
        """Another tool, under the same rights; its error is raised."""
        self._check_open(ctx)
        if self.scope.depth >= MAX_DEPTH:
            raise ToolError(f"{tool_id} is called {MAX_DEPTH} tools deep: tools may not call each other without end.")
        call = ToolCallPart(f"{ctx.call_id}.{new_id()[:8]}", tool_id, json.dumps(dict(input)))
        inner = replace(self.scope, depth=self.scope.depth + 1, approve=False, tainted=self.tainted)
        result = await self.call_inner(call, inner)
        self.untrusted = self.untrusted or result.untrusted  # what it read is in what it gives, for all we know
        return output_of(result)

    async def run(self, ctx: ToolContext, agent: Agent, prompt: str) -> RunResult:
        """A child run, within the rights and limits of the run that this call belongs to."""
        self._check_open(ctx)
        if self.scope.run_child is None:
            raise ToolError(f"{ctx.tool_id} needs an agent, which only a call inside a run can have.")
        self.children += 1
        return await self.scope.run_child(agent, prompt, self, ctx.call_id)

    async def append(self, ctx: ToolContext, entry: SessionEntry) -> Entry:
        """An entry of the plugin whose tool is called, in its session's log."""
        self._check_open(ctx)
        if self.scope.record is None:
            raise _no_session(ctx)
        tool = self.scope.tools[ctx.tool_id]
        draft = draft_of(
            entry,
            ctx.tool_id.partition(".")[0],
            self.scope.run_id,
            max_chars=tool.max_result_chars,
            untrusted=self.untrusted or tool.untrusted_output,
        )
        return await self.scope.record(draft)

    def branch(self, ctx: ToolContext) -> Sequence[Entry]:
        """The entries of the session that lead to this call."""
        if self.scope.branch is None:
            raise _no_session(ctx)
        return self.scope.branch()

    def tainted(self) -> bool:
        """Whether untrusted content may stand behind what is asked for: in the session, or read by this very call."""
        return self.untrusted or self.scope.tainted()

    async def permit(
        self,
        ctx: ToolContext,
        input: BaseModel,
        flags: ToolFlags,
        request: PermissionRequest,
        *,
        default_yes: bool = False,
    ) -> None:
        """The permission phase: rules and mode, then a person; `default_yes` answers what only the mode asks."""
        scope, fields = self.scope, CallFields(input, request.fields)
        tainted = not flags.read_only and scope.tainted()
        decision = self.permissions.decide(
            scope.session_id, ctx.tool_id, flags, fields, rights=scope.rights, tainted=tainted
        )
        if decision.effect == "allow":
            return
        if decision.effect == "deny":
            raise PermissionDenied(f"{ctx.tool_id} is not allowed: {decision.why}.", tool=ctx.tool_id)
        if scope.approve or (default_yes and not decision.by_rule and not tainted):
            return
        values = fields.values_as_json
        text = request.description or f"{ctx.tool_id} with {json.dumps(values, ensure_ascii=False)}"
        # Whoever is asked in a tainted session knows it: the answer for the session holds in spite of it.
        rule = Rule("allow", ctx.tool_id, dict(request.fields), "session", exact=True, even_if_tainted=tainted)
        answered = await self._ask(ctx, values, text, decision.why, rule)
        if answered.answer == "deny":
            raise refusal(ctx.tool_id, answered.why)

    def _check_open(self, ctx: ToolContext) -> None:
        if self.over:
            raise ToolAborted(f"This call of {ctx.tool_id} is over: it was stopped or has ended.", tool=ctx.tool_id)

    async def _ask(self, ctx: ToolContext, input: dict[str, Any], text: str, why: str, rule: Rule | None) -> Answered:
        scope = self.scope
        if scope.on_question == "deny":
            return Answered("deny", "glados", _nobody_there(ctx.tool_id, why))
        text, now = well_formed(text), timestamp()
        question = Question(
            new_id(), scope.session_id, scope.run_id, ctx.call_id, ctx.tool_id, input, text, why, now, rule
        )
        asked = scope.asked.get(ctx.call_id) if scope.asked is not None else None
        entry: Entry | None = None
        if scope.asked is not None and asked is not None and asked.asks_the_same(question):
            question = scope.asked.pop(ctx.call_id)
        else:
            entry = await self._record("permission_question", question.to_entry())
        waiting = self.permissions.open(question)
        scope.publish(PermissionRequested(question=question.to_dict(), **scope.stored(entry)))
        try:
            answered = await self.permissions.wait(question, waiting, scope.on_question)
        except asyncio.CancelledError:
            withdrawn = Answered("deny", "glados", "the call was aborted while it waited")
            await self._close(question, withdrawn if waiting.cancelled() or not waiting.done() else waiting.result())
            raise
        await self._close(question, answered)
        return answered

    async def _close(self, question: Question, answered: Answered) -> None:
        """Write down how a question ended, then tell it."""
        facts = {"id": question.id, "answer": answered.answer, "why": answered.why, "principal": answered.principal}
        stored = self.scope.stored(await self._record("permission_answer", facts))
        by, publish = answered.principal, self.scope.publish
        if answered.answer == "deny":
            publish(PermissionRefused(question_id=question.id, why=answered.why, principal=by, **stored))
        else:
            publish(PermissionGranted(question_id=question.id, answer=answered.answer, principal=by, **stored))

    async def _record(self, kind: EntryKind, payload: dict[str, Any]) -> Entry | None:
        if self.scope.record is None:
            return None
        return await self.scope.record(Draft(kind, payload, self.scope.run_id))


def refusal(tool_id: str, why: str) -> PermissionDenied:
    """The error of a call to which somebody said no."""
    return PermissionDenied(f"{tool_id} was not allowed: {why}.", tool=tool_id)


def _no_session(ctx: ToolContext) -> ToolError:
    return ToolError(f"{ctx.tool_id} needs a session, which only a call inside a run has.", tool=ctx.tool_id)


def _nobody_there(tool_id: str, why: str) -> str:
    return (
        f"a person has to allow it ({why}) and nobody can be asked here; ask again where a person can answer (in a"
        f" terminal, over an event stream), or allow it without asking: `glados call {tool_id} … --yes`, or"
        f" PERMISSIONS_ALLOW={tool_id}"
    )
