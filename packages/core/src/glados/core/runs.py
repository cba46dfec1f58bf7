"""A run: a prompt goes in, events come out, the loop in between."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from glados.core import compaction, structured
from glados.core.agents import Agent
from glados.core.answers import Answers
from glados.core.errors import GladosError, ToolAborted, ToolError
from glados.core.events import RunFinished, RunStarted
from glados.core.executor import Executor
from glados.core.fences import Fence
from glados.core.foreign import failure
from glados.core.journal import Journal
from glados.core.limits import LimitReached
from glados.core.messages import Message, ToolCallPart, ToolResultPart, Usage, unanswered, user_message
from glados.core.outcomes import part
from glados.core.prices import cost
from glados.core.results import Progress, RunResult
from glados.core.run_context import RunContext
from glados.core.scope import Scope, ScopedHost
from glados.core.sessions import Draft, Entry
from glados.core.shielding import to_the_end
from glados.core.tools import ToolResult
from glados.core.turns import Turn

MAX_CONTINUED = 3
CONTINUE = "Your answer was cut short by the output limit. Go on exactly where it stopped, without repeating anything."


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
        self._journal = Journal(self.session_id, id, context.store, context.bus)
        self._answers = Answers(context, self._journal, self._turn, self._spend, self.limit)
        self._fence = Fence()
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

    async def _child(self, agent: Agent, prompt: str, caller: ScopedHost) -> RunResult:
        run_child = self._context.run_child
        if run_child is None:
            raise ToolError("This run cannot have children.")
        return await run_child(self, agent, prompt, caller)

    async def execute(self, prompt: str) -> RunResult:
        """Work on the prompt until the model stops; cancelling it is the abort, and leaves a valid history."""
        error: GladosError | None = None
        try:
            stop = await self._loop(prompt)
        except asyncio.CancelledError:
            stop = "aborted"
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
            end = {"run_id": self.id, "stop": stop, "error": error.to_dict() if error else None}
            entry = await self._journal.record(Draft("run_end", end, self.id))
        except Exception as caught:
            stop, error = "error", error or failure("The end of the run", caught)
        result = self._result(stop)
        seq = entry.seq if entry else None
        self._journal.publish(RunFinished, result=result.to_dict(), error=error, seq=seq)
        if error is not None:
            raise error
        return result

    async def _loop(self, prompt: str) -> str:
        """Turn after turn; gives the reason why it stopped."""
        await self._begin(prompt)
        while True:
            await self._say_all(self._steering)
            limit = self.limit()
            if limit is not None:
                return limit
            turn = await self._answers.next()
            self._count(turn)
            cut = turn.done is not None and turn.done.stop == "length"
            await self._say_turn(turn, "length" if cut and not turn.calls else None)
            if turn.calls:
                await self._run_calls(turn)
                continue
            self._answers.turn = None
            stop = await self._stop_or_go_on(turn)
            if stop is not None:
                return stop

    async def _begin(self, prompt: str) -> None:
        journal = self._journal
        await journal.load(compaction.history)
        journal.publish(RunStarted, model=self._answers.model.name, n=journal.next_n())
        if self._context.tainted:
            await journal.record(Draft("custom", {"tainted": True, "why": "the prompt was made of it"}, self.id))
        lost = [_lost(call) for call in unanswered(journal.messages)]
        if lost:
            await journal.say(Message("tool", tuple(lost)))
        await journal.say(user_message(prompt, self._context.images))

    async def _stop_or_go_on(self, turn: Turn) -> str | None:
        """What follows an answer without calls: the reason to stop, or None after saying why to go on."""
        stop = turn.done.stop if turn.done is not None else "end"
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

    def _count(self, turn: Turn) -> None:
        """Add an answer to what the run has used."""
        done = turn.done
        assert done is not None
        price = cost(done.model, done.usage, self._context.prices) if done.usage is not None else None
        self.progress = self.progress.answered(turn.text, done.model, done.usage)
        self.spend(done.usage or Usage(), price, turns=1)

    def _spend(self, model: str, usage: Usage | None) -> None:
        """Add a call that is no answer, such as a summary."""
        self.spend(usage or Usage(), cost(model, usage, self._context.prices))

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
        await self._journal.say(turn.message(self._answers.model.name, stop))

    async def _close_turn(self, stop: str) -> None:
        """End a turn in the middle: what arrived is kept, and every call that is kept gets its one result."""
        turn = self._answers.turn
        if turn is None:
            return
        results = await turn.executor.abort()
        if not turn.stored and (turn.text or turn.calls):
            spent = self.progress.spent if turn.done is not None else replace(self.progress.spent, cost=None)
            self.progress = replace(self.progress, text=turn.text or self.progress.text, spent=spent)
            await self._say_turn(turn, stop)
        self._answers.turn = None
        waiting = {call.id for call in unanswered(self._journal.messages)}
        untold = [result for result in results if result.call_id in waiting]
        if untold:
            await self._tell(untold)

    def _result(self, stop: str) -> RunResult:
        progress = self.progress
        spent = progress.spent
        return RunResult(
            progress.text,
            self.session_id,
            self.id,
            spent.usage,
            progress.steps,
            stop,
            spent.cost,
            progress.output,
            self._journal.taint(),
        )


def _lost(call: ToolCallPart) -> ToolResultPart:
    """The result of a call whose run could not write one down, because its process or its store failed."""
    error = ToolAborted(f"The run broke off; whether {call.tool_id} has done its work is unknown.")
    return ToolResultPart(call.id, call.tool_id, f"Error {error.code}: {error.message}", True, error.code)
