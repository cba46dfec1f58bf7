"""The model's next answer, with every recovery: asking again, another model, a shorter history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from glados.core.errors import ModelError
from glados.core.events import Compacted, ModelChanged, ModelRetried
from glados.core.journal import Journal
from glados.core.limits import LimitReached
from glados.core.memory import Memory
from glados.core.messages import Usage
from glados.core.model import ModelDone, ModelRequest
from glados.core.models.errors import ModelContextTooLong
from glados.core.recovery import Patience
from glados.core.run_context import RunContext
from glados.core.sessions import Charge, Draft
from glados.core.turns import Turn

log = logging.getLogger("glados.runs")


class Answers:
    """Asks the model of one run; `turn` is the answer that arrives now or that is being worked on."""

    def __init__(
        self,
        context: RunContext,
        journal: Journal,
        begin: Callable[[], Turn],
        spend: Callable[[str, Usage | None], Charge],
        limit: Callable[[float], str | None],
    ) -> None:
        self.model = context.model
        self.turn: Turn | None = None
        self._context = context
        self._journal = journal
        self._begin = begin
        self._spend = spend
        self._limit = limit  # the bound that is reached so many seconds from now
        self._memory = Memory(journal, context.window, context.fixed_chars(), spend)
        self._memo: dict[str, Any] = {}
        self._compacted = False  # whether this answer has had its compaction

    def take_up(self, model: str | None, usage: Usage | None) -> None:
        """Go on after a crash: with the model to which the run had changed, and what its last call has used."""
        fallback = self._context.fallback
        if fallback is not None and fallback.name == model:
            self.model = fallback
        self._memory.take_up(usage)

    async def next(self) -> Turn:
        """A complete answer; raises when no recovery is left."""
        patience, self._compacted = self._context.patience(), False
        await self._compact_if_due()
        while True:
            turn = self.turn = self._begin()
            try:
                await turn.receive(self.model.stream(self._request()), self.model.name, self._journal)
            except ModelError as error:
                if not (turn.calls and error.retryable):
                    await turn.executor.abort()
                    if turn.text:  # it was written and has its price, which nobody tells us
                        self._journal.owe(self._spend(self.model.name, None))
                    patience = await self._recover(error, patience)
                    continue
                # Its calls have begun: asking again could do them twice, so they are what the answer was.
                turn.done = ModelDone("tool_calls", None, self.model.name)
            self._memory.answered(turn.done.usage if turn.done is not None else None)
            return turn

    async def _recover(self, error: ModelError, patience: Patience) -> Patience:
        """Make the history shorter, wait for the next try, or change to the fallback; raises when nothing is left."""
        if isinstance(error, ModelContextTooLong) and not self._compacted:
            try:
                if await self._compact():
                    return patience
            except ModelError as failed:  # the summary has its tries too
                error, self._compacted = failed, not failed.retryable
        journal, retry = self._journal, patience.next(error)
        if retry is not None:
            self.turn = None
            if (limit := self._limit(retry.delay)) is not None:
                raise LimitReached(limit)
            journal.publish(ModelRetried, model=self.model.name, error=error, delay=retry.delay, n=journal.next_n())
            await asyncio.sleep(retry.delay)
            return patience
        fallback = self._context.fallback
        if not error.retryable or fallback is None or fallback is self.model:
            raise error
        self.turn = None
        change = {"from": self.model.name, "to": fallback.name, "why": error.message}
        entry = await journal.record(Draft("model_change", change, journal.run_id))
        journal.publish(ModelChanged, change=change, seq=entry.seq)
        self.model, self._memo = fallback, {}
        return self._context.patience()

    async def _compact_if_due(self) -> None:
        """Compact before the context is full; a summary that fails costs nothing but itself."""
        if self._memory.due:
            try:
                await self._compact()
            except ModelError as error:
                log.warning("the conversation could not be summarised: %s", error.message)

    async def _compact(self) -> bool:
        """Replace the older part of the history by a summary; says whether there was one to replace."""
        self._compacted, self.turn = True, None
        payload = await self._memory.compact()
        if payload is None:
            return False
        self._memo = {}
        self._journal.publish(Compacted, compaction=payload, seq=self._journal.entries[-1].seq)
        return True

    def _request(self) -> ModelRequest:
        context = self._context
        return ModelRequest(
            context.system, self._journal.messages, context.tools, thinking=context.thinking, memo=self._memo
        )
