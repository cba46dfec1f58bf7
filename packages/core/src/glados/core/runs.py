"""A run: a prompt goes in, events come out, the loop in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_core import to_jsonable_python

from glados.core.agents import Agent
from glados.core.errors import GladosError, ModelError, ToolAborted
from glados.core.events import Event, EventBus, MessageCreated, RunFinished, RunStarted, StreamChunk
from glados.core.executor import Executor
from glados.core.foreign import failure
from glados.core.messages import (
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    unanswered,
    user_message,
    well_formed,
)
from glados.core.model import Model, ModelDelta, ModelDone, ModelRequest, TextDelta, ThinkingDelta, ToolCallDelta
from glados.core.permissions import OnQuestion
from glados.core.pipeline import Pipeline
from glados.core.scope import Scope
from glados.core.sessions import Draft, Entry, Session, SessionStore, new_id
from glados.core.shielding import ended, to_the_end
from glados.core.tools import Tool, ToolResult


@dataclass(frozen=True, slots=True)
class Step:
    """A model call or a tool call of a run."""

    kind: str
    name: str
    call_id: str | None = None
    code: str | None = None
    usage: Usage | None = None

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON."""
        data: dict[str, Any] = {"kind": self.kind, "name": self.name}
        if self.kind == "tool":
            data.update(call_id=self.call_id, is_error=self.code is not None, code=self.code)
        if self.usage is not None:
            data["usage"] = self.usage.to_dict()
        return data


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended; `stop` is end, aborted, error, length, content_filter or the limit that was reached."""

    text: str
    session_id: str
    run_id: str
    usage: Usage
    steps: tuple[Step, ...]
    stop: str

    def to_dict(self) -> dict[str, Any]:
        """The result as `/api/chat` answers it."""
        return {
            "session_id": self.session_id,
            "run_id": self.run_id,
            "response": self.text,
            "steps": [step.to_dict() for step in self.steps],
            "usage": self.usage.to_dict(),
            "stop": self.stop,
        }


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run works with: everything that stays the same from its first turn to its last."""

    session: Session
    agent: Agent
    model: Model
    system: str
    tools: Sequence[Tool]
    store: SessionStore
    bus: EventBus
    pipeline: Pipeline
    on_question: OnQuestion


@dataclass(frozen=True, slots=True)
class _State:
    """Where the loop is; replaced from turn to turn."""

    turns: int = 0
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class _Turn:
    """One answer of the model while it arrives."""

    executor: Executor
    text: list[str] = field(default_factory=list[str])
    calls: list[ToolCallPart] = field(default_factory=list[ToolCallPart])
    done: ModelDone | None = None
    stored: bool = False

    def message(self, model: str, stop: str | None = None) -> Message:
        """What has arrived, as a message."""
        text = "".join(self.text)
        parts = (*((TextPart(text),) if text else ()), *self.calls)
        return Message("assistant", parts, model=model, stop=stop)


class Run:
    """One prompt worked on in one session."""

    def __init__(self, id: str, context: RunContext) -> None:
        self.id = id
        self.session_id = context.session.id
        self._context = context
        self._messages: list[Message] = []
        self._memo: dict[str, Any] = {}
        self._state = _State()
        self._turn: _Turn | None = None
        self._n = 0
        self._tools = {tool.id: tool for tool in context.tools}
        self._scope = Scope(
            tools=self._tools,
            on_question=context.on_question,
            publish=context.bus.publish,
            record=self._record,
            session_id=self.session_id,
            run_id=self.id,
            next_n=self._next_n,
        )

    async def execute(self, prompt: str) -> RunResult:
        """Work on the prompt until the model stops; cancelling it is the abort, and leaves a valid history."""
        error: GladosError | None = None
        try:
            stop = await self._loop(prompt)
        except asyncio.CancelledError:
            stop = "aborted"
        except Exception as caught:
            stop, error = "error", failure("The run", caught)
        return await to_the_end(self._finish(stop, error))

    async def _finish(self, stop: str, error: GladosError | None) -> RunResult:
        """Close the history and tell the end; the end is told even if the store fails."""
        entry: Entry | None = None
        try:
            await self._close_turn(stop)
            end = {"run_id": self.id, "stop": stop, "error": error.to_dict() if error else None}
            entry = await self._record(Draft("run_end", end, self.id))
        except Exception as caught:
            stop, error = "error", error or failure("The end of the run", caught)
        result = self._result(stop)
        self._publish(RunFinished, result=result.to_dict(), error=error, seq=entry.seq if entry else None)
        if error is not None:
            raise error
        return result

    async def _loop(self, prompt: str) -> str:
        """Turn after turn; gives the reason why it stopped."""
        context = self._context
        entries = await context.store.entries(self.session_id)
        self._messages = [entry.payload for entry in entries if isinstance(entry.payload, Message)]
        self._publish(RunStarted, model=context.model.name, n=self._next_n())
        lost = [_lost(call) for call in unanswered(self._messages)]
        if lost:
            await self._say(Message("tool", tuple(lost)))
        await self._say(user_message(prompt))
        while True:
            limit = context.agent.limits.reached(turns=self._state.turns)
            if limit is not None:
                return limit
            turn = await self._ask_model()
            await self._say(turn.message(context.model.name))
            if not turn.calls:
                self._turn = None
                stop = turn.done.stop if turn.done is not None else "end"
                return "end" if stop == "tool_calls" else stop
            turn.executor.release()
            async for results in turn.executor.results():
                await self._tell(results)
            self._turn = None

    async def _ask_model(self) -> _Turn:
        """One streaming model call; read-only tools start as their calls complete in the stream."""
        context = self._context
        turn = self._turn = _Turn(Executor(lambda checked: context.pipeline.run(checked, self._scope)))
        request = ModelRequest(context.system, self._messages, context.tools, memo=self._memo)
        try:
            async for delta in context.model.stream(request):
                self._take(turn, delta)
        except GladosError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(failure(f"The model {context.model.name!r}", error).message) from error
        if turn.done is None:
            raise ModelError("The model's answer ended before it was complete: try again.")
        state, used = self._state, turn.done.usage
        self._state = replace(
            state,
            turns=state.turns + 1,
            text="".join(turn.text) or state.text,
            usage=state.usage + (used or Usage()),
            steps=(*state.steps, Step("model", turn.done.model, usage=used)),
        )
        return turn

    def _take(self, turn: _Turn, delta: ModelDelta) -> None:
        if isinstance(delta, TextDelta):
            turn.text.append(well_formed(delta.text))
            self._publish(StreamChunk, text=turn.text[-1], n=self._next_n())
        elif isinstance(delta, ToolCallDelta):
            call = delta.call
            taken = any(call.id == other.id for other in turn.calls)  # a result must say which call it belongs to
            call = replace(call, id=new_id() if taken else call.id, arguments=well_formed(call.arguments))
            turn.calls.append(call)
            turn.executor.add(self._context.pipeline.check(call, self._tools))
        elif isinstance(delta, ThinkingDelta):
            self._publish(StreamChunk, text=well_formed(delta.text), thinking=True, n=self._next_n())
        else:
            turn.done = delta

    async def _tell(self, results: Sequence[ToolResult]) -> None:
        """Write results down for the model to read."""
        await self._say(Message("tool", tuple(_part(result) for result in results)))
        steps = tuple(Step("tool", result.tool_id, result.call_id, result.code) for result in results)
        self._state = replace(self._state, steps=self._state.steps + steps)

    async def _close_turn(self, stop: str) -> None:
        """End a turn in the middle: what arrived is kept, and every call that is kept gets its one result."""
        turn = self._turn
        if turn is None:
            return
        results = await turn.executor.abort()
        if not turn.stored and (turn.text or turn.calls):
            self._state = replace(self._state, text="".join(turn.text) or self._state.text)
            await self._say(turn.message(self._context.model.name, stop))
        self._turn = None
        waiting = {call.id for call in unanswered(self._messages)}
        untold = [result for result in results if result.call_id in waiting]
        if untold:
            await self._tell(untold)

    async def _say(self, message: Message) -> None:
        """Write a message down, then tell it."""
        entry = await self._record(Draft("message", message, self.id))
        self._publish(MessageCreated, entry_id=entry.id, message=message, seq=entry.seq)

    async def _record(self, draft: Draft) -> Entry:
        """Append one entry; an abort in the middle waits until it is known whether the entry is there."""
        appending = asyncio.ensure_future(self._append(draft))
        try:
            return await asyncio.shield(appending)
        except asyncio.CancelledError:
            await ended(appending)
            raise

    async def _append(self, draft: Draft) -> Entry:
        entries = await self._context.store.append(self.session_id, [draft])
        if isinstance(draft.payload, Message):
            self._messages.append(draft.payload)
            if self._turn is not None and draft.payload.role == "assistant":
                self._turn.stored = True
        return entries[0]

    def _publish(self, kind: Callable[..., Event], **fields: Any) -> None:
        self._context.bus.publish(kind(session_id=self.session_id, run_id=self.id, **fields))

    def _next_n(self) -> int:
        self._n += 1
        return self._n

    def _result(self, stop: str) -> RunResult:
        state = self._state
        return RunResult(state.text, self.session_id, self.id, state.usage, state.steps, stop)


def _lost(call: ToolCallPart) -> ToolResultPart:
    """The result of a call whose run could not write one down, because its process or its store failed."""
    error = ToolAborted(f"The run broke off; whether {call.tool_id} has done its work is unknown.")
    return ToolResultPart(call.id, call.tool_id, f"Error {error.code}: {error.message}", True, error.code)


def _part(result: ToolResult) -> ToolResultPart:
    error = result.error
    data = to_jsonable_python(dict(error.data), fallback=str) if error is not None and error.data else None
    return ToolResultPart(result.call_id, result.tool_id, result.text, result.is_error, result.code, data)
