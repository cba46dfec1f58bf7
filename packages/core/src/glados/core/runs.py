"""A run: a prompt goes in, events come out, the loop in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from glados.core import compaction, structured
from glados.core.agents import Agent
from glados.core.answers import Answers
from glados.core.child_ids import ChildId
from glados.core.errors import GladosError, ToolError
from glados.core.events import RunFinished, RunStarted
from glados.core.executor import Executor
from glados.core.fences import Fence
from glados.core.foreign import failure
from glados.core.journal import Journal
from glados.core.limits import LimitReached
from glados.core.messages import Message, Usage, unanswered, user_message
from glados.core.outcomes import part
from glados.core.prices import cost
from glados.core.results import Progress, RunResult
from glados.core.run_context import RunContext
from glados.core.scope import Scope, ScopedHost
from glados.core.sessions import Charge, Draft, Entry, RunStart
from glados.core.shielding import to_the_end
from glados.core.standing import CONTINUE, Standing, closing, interrupted, spent_below, withdrawn
from glados.core.tools import ToolResult
from glados.core.turns import Turn

MAX_CONTINUED = 3


class Run:
    """One prompt worked on in one session."""

    def __init__(self, id: str, context: RunContext, parent: Run | None = None) -> None:
        self.id = id
        self.session_id = context.session.id
        self.context = self._context = context
        self.progress = Progress()
        self.root: Run = parent.root if parent is not None else self
        self.children = 0
        self.over = False  # once it hears nothing more
        self._parent = parent
        self._resumed = False
        self._journal = Journal(context.session, id, context.store, context.bus, self._abort)
        self._answers = Answers(context, self._journal, self._turn, self._spend, self.limit)
        self._fence = Fence()
        self._task: asyncio.Task[Any] | None = None
        self._steering: list[str] = []
        self._following: list[str] = []
        self._started = time.monotonic()
        self._tools = {tool.id: tool for tool in context.tools}
        self._scope = Scope(
            tools=self._tools,
            on_question=context.on_question,
            publish=context.bus.publish,
            record=self._journal.record,
            session_id=self.session_id,
            run_id=id,
            next_n=self._journal.next_n,
            run_child=self._child,
            rights=context.rights,
            tainted=self._journal.taint,
            branch=lambda: self._journal.entries,
        )

    def steer(self, text: str) -> None:
        """Say something to the model before its next call."""
        self._steering.append(text)

    def follow_up(self, text: str) -> None:
        """Say something to the model when it has stopped, and let it go on."""
        self._following.append(text)

    def seconds(self) -> float:
        """How long it works already."""
        return time.monotonic() - self._started

    @property
    def tainted(self) -> bool:
        """Whether untrusted content stands in its session."""
        return self._journal.taint()

    def limit(self, ahead: float = 0.0) -> str | None:
        """The bound that is reached, now or some seconds ahead: its own, or one above, which all children share."""
        reached = self._context.agent.limits.reached(self.progress.spent, self.seconds() + ahead)
        return reached or (self._parent.limit(ahead) if self._parent is not None else None)

    def spend(self, usage: Usage, cost: float | None, *, turns: int = 0) -> None:
        """Count a model call, here and in every run above."""
        self.progress = replace(self.progress, spent=self.progress.spent.plus(usage, cost, turns=turns))
        if self._parent is not None:
            self._parent.spend(usage, cost, turns=turns)

    async def _child(self, agent: Agent, prompt: str, caller: ScopedHost, call_id: str) -> RunResult:
        run_child, turn = self._context.run_child, self._answers.turn
        if run_child is None or turn is None:
            raise ToolError("This run cannot have children.")
        return await run_child(self, agent, prompt, caller, ChildId.of(turn.entry_id, call_id, caller.children))

    def _abort(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def execute(self, prompt: str) -> RunResult:
        """Work on the prompt until the model stops; cancelling it is the abort, and leaves a valid history."""
        return await self._work(self._begin(prompt))

    async def resume(self, why: str) -> RunResult:
        """Go on where the run stood when its process died."""
        self._resumed = True
        return await self._work(self._take_up(why))

    async def _work(self, first: Coroutine[Any, Any, str | None]) -> RunResult:
        error: GladosError | None = None
        self._task = asyncio.current_task()
        try:
            stop = await first or await self._loop()
        except asyncio.CancelledError:
            stop, error = ("aborted", None) if self._journal.lost is None else ("error", self._journal.lost)
        except LimitReached as reached:
            stop = reached.limit
        except Exception as caught:
            stop, error = "error", failure("The run", caught)
        self.over = True
        return await to_the_end(self._finish(stop, error))

    async def _finish(self, stop: str, error: GladosError | None) -> RunResult:
        """Close the history and tell the end; the end is told even if the store fails."""
        entry: Entry | None = None
        try:
            await self._close_turn(stop)
            if self._journal.is_open:  # else it is not ours to close
                end = {"run_id": self.id, "stop": stop, "error": error.to_dict() if error else None}
                ends = [Draft("run_end", end, self.id)] if not self._resumed else None
                entry = (await self._journal.record_all(ends or closing(self._journal.entries, self.id, end)))[-1]
        except Exception as caught:
            stop, error = "error", error or failure("The end of the run", caught)
        result = self.progress.result(self.session_id, self.id, stop, tainted=self.tainted)
        seq = entry.seq if entry else None
        self._journal.publish(RunFinished, result=result.to_dict(), error=error, seq=seq)
        if error is not None:
            raise error
        return result

    async def _loop(self) -> str:
        """Turn after turn; gives the reason why it stopped."""
        while True:
            await self._say_all(self._steering)
            limit = self.limit()
            if limit is not None:
                return limit
            turn = await self._answers.next()
            stop = turn.done.stop if turn.done is not None and not turn.calls else "tool_calls"
            await self._say_turn(turn, None if stop in ("end", "tool_calls") else stop)
            if turn.calls:
                await self._run_calls(turn)
                continue
            self._answers.turn = None
            stop = await self._stop_or_go_on(stop)
            if stop is not None:
                return stop

    async def _begin(self, prompt: str) -> str | None:
        journal = self._journal
        await journal.load(compaction.history)
        journal.opens = RunStart(self.id, self._context.resumable)
        journal.publish(RunStarted, model=self._answers.model.name, n=journal.next_n())
        drafts: list[Draft] = []
        if self._context.tainted:
            drafts.append(Draft("custom", {"tainted": True, "why": "the prompt was made of it"}, self.id))
        if lost := [part(interrupted(call), self._fence) for call in unanswered(journal.messages)]:
            drafts.append(Draft("message", Message("tool", tuple(lost)), self.id))
        drafts.append(Draft("message", user_message(prompt, self._context.images), self.id))
        await journal.record_all(drafts)  # in one step: a run that is open has its prompt

    async def _take_up(self, why: str) -> str | None:
        """Read where the run stood, and end what it was about to do; gives the reason to stop if it had ended."""
        journal = self._journal
        await journal.load(compaction.history)
        stood = Standing.of(journal.entries, self.id)
        below, self.children = await spent_below(self._context.store, self.session_id, stood.answers)
        self.progress = stood.progress
        self.spend(below.usage, below.cost, turns=below.turns)
        self._started -= stood.seconds
        self._answers.take_up(stood.model, stood.usage)
        asked = stood.asked if stood.stop is None else {}
        self._scope = replace(self._scope, asked=asked)
        journal.publish(RunStarted, model=self._answers.model.name, n=journal.next_n())
        gone = [question for question in stood.open.values() if question not in asked.values()]
        resumed = Draft("run_resume", {"run_id": self.id, "why": why}, self.id)
        await journal.record_all([resumed, *withdrawn(gone, self.id)])
        if stood.calls:
            await self._end_calls(stood)
        if stood.stop not in (None, "length"):
            return stood.stop
        return await self._stop_or_go_on(stood.stop or "end") if stood.is_whole else None

    async def _end_calls(self, stood: Standing) -> None:
        """Give every call of the answer its result: from the call itself where that is safe."""
        turn = self._turn()
        assert stood.answer is not None
        turn.entry_id, turn.stored, self._answers.turn = stood.answer.id, True, turn
        for call in stood.calls:
            turn.executor.add(stood.again(call, self._context.pipeline.check(call, self._tools)))
        await self._run_calls(turn)

    async def _stop_or_go_on(self, stop: str) -> str | None:
        """What follows an answer without calls: the reason to stop, or None after saying why to go on."""
        if stop == "length" and self.progress.continued < MAX_CONTINUED:
            self.progress = replace(self.progress, continued=self.progress.continued + 1)
            await self._journal.say(user_message(CONTINUE))
            return None
        if self._steering:
            self.progress = replace(self.progress, continued=0)
            return None
        output = self._context.output
        if output is not None and stop in ("end", "tool_calls"):
            parsed = structured.parse(self.progress.text, output)
            if isinstance(parsed, str):
                await self._ask_for_output_again(parsed)
                return None
            self.progress = replace(self.progress, output=parsed)
        if self._following:
            self.progress = replace(self.progress, continued=0)
            await self._journal.say(user_message(self._following.pop(0)))
            return None
        return "end" if stop == "tool_calls" else stop

    async def _ask_for_output_again(self, complaint: str) -> None:
        if self.progress.reasked >= structured.MAX_ASKED_AGAIN:
            raise structured.InvalidOutput(
                f"The model's answer did not have the form that was asked for, {structured.MAX_ASKED_AGAIN + 1} times."
            )
        self.progress = replace(self.progress, reasked=self.progress.reasked + 1, continued=0)
        await self._journal.say(user_message(complaint))

    def _turn(self) -> Turn:
        """A place for the next answer, whose calls run in this run's scope."""
        pipeline, scope = self._context.pipeline, self._scope
        executor = Executor(lambda checked: pipeline.run(checked, scope))
        return Turn(executor, lambda call: pipeline.check(call, self._tools))

    def _count(self, turn: Turn) -> Charge:
        """Add an answer to what the run has used; one that was cut has a price that nobody tells us."""
        done = turn.done
        if done is None:
            self.progress = replace(self.progress, text=turn.text or self.progress.text)
            return self._spend(self._answers.model.name, None)
        self.progress = self.progress.answered(turn.text, done.model, done.usage)
        return self._spend(done.model, done.usage, turns=1)

    def _spend(self, model: str, usage: Usage | None, *, turns: int = 0) -> Charge:
        """Add a model call, also one that is no answer, such as a summary."""
        charge = Charge(model, usage, cost(model, usage, self._context.prices))
        self.spend(usage or Usage(), charge.cost, turns=turns)
        return charge

    async def _run_calls(self, turn: Turn) -> None:
        """Let every call of an answer end, and write the results down in order."""
        turn.executor.release()
        async for results in turn.executor.results():
            await self._tell(results)
        self._answers.turn = None

    async def _tell(self, results: list[ToolResult]) -> None:
        """Write results down for the model to read."""
        await self._journal.say(Message("tool", tuple(part(result, self._fence) for result in results)))
        self.progress = self.progress.told(results)

    async def _say_all(self, texts: list[str]) -> None:
        while texts:
            await self._journal.say(user_message(texts.pop(0)))

    async def _say_turn(self, turn: Turn, stop: str | None) -> None:
        turn.stored = True  # from here on the message is there, or its append has failed the run
        message = turn.message(self._answers.model.name, stop)
        await self._journal.say(message, id=turn.entry_id, charges=(self._count(turn),))

    async def _close_turn(self, stop: str) -> None:
        """End a turn in the middle: what arrived is kept, and every call that is kept gets its one result."""
        turn = self._answers.turn
        if turn is None:
            return
        results = await turn.executor.abort()
        if self._journal.lost is not None:
            return
        if not turn.stored and (turn.text or turn.calls):
            await self._say_turn(turn, stop)
        self._answers.turn = None
        waiting = {call.id for call in unanswered(self._journal.messages)}
        untold = [result for result in results if result.call_id in waiting]
        if untold:
            await self._tell(untold)
