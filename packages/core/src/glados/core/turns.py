"""One answer of the model while it arrives: text, thoughts, and calls that may start before it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import cast

from glados.core.errors import GladosError, ModelError
from glados.core.events import StreamChunk
from glados.core.executor import Executor
from glados.core.foreign import failure
from glados.core.journal import Journal
from glados.core.messages import Message, TextPart, ThinkingPart, ToolCallPart, well_formed
from glados.core.model import ModelDelta, ModelDone, TextDelta, ThinkingDelta, ThinkingDone, ToolCallDelta
from glados.core.models.errors import ModelStreamCut
from glados.core.pipeline import Checked
from glados.core.recovery import EmptyAnswer
from glados.core.sessions import new_id
from glados.core.tools import ToolResult


class Turn:
    """Takes the deltas of one model call; `done` is set when the answer is complete."""

    def __init__(self, executor: Executor, check: Callable[[ToolCallPart], Checked | ToolResult]) -> None:
        self.entry_id = new_id()  # of its message, known before it is stored to the agents that its calls start
        self.executor = executor
        self.calls: list[ToolCallPart] = []
        self.done: ModelDone | None = None
        self.stored = False
        self._check = check
        self._text: list[str] = []
        self._parts: list[ThinkingPart | ToolCallPart | list[str]] = []  # in the order in which they came

    @property
    def text(self) -> str:
        """The text that has arrived."""
        return "".join(self._text)

    async def receive(self, stream: AsyncIterator[ModelDelta], model: str, journal: Journal) -> None:
        """Take the whole answer; an answer that is cut or empty is an error."""
        try:
            async for delta in stream:
                self._take(delta, journal)
        except GladosError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(failure(f"The model {model!r}", error).message) from error
        if self.done is None:
            raise ModelStreamCut("The model's answer ended before it was complete: try again.")
        if not self._text and not self.calls and self.done.stop == "end":
            raise EmptyAnswer("The model answered with nothing at all: ask again, or try another model.")

    def message(self, model: str, stop: str | None = None) -> Message:
        """What has arrived, as a message."""
        parts = tuple(TextPart("".join(part)) if isinstance(part, list) else part for part in self._parts)
        return Message("assistant", parts, model=model, stop=stop)

    def _take(self, delta: ModelDelta, journal: Journal) -> None:
        if isinstance(delta, TextDelta):
            text = well_formed(delta.text)
            self._text.append(text)
            if not (self._parts and isinstance(self._parts[-1], list)):
                self._parts.append([])
            cast("list[str]", self._parts[-1]).append(text)
            journal.publish(StreamChunk, text=text, n=journal.next_n())
        elif isinstance(delta, ToolCallDelta):
            call = delta.call
            taken = any(call.id == other.id for other in self.calls)  # a result must say which call it belongs to
            call = replace(call, id=new_id() if taken else call.id, arguments=well_formed(call.arguments))
            self.calls.append(call)
            self._parts.append(call)
            self.executor.add(self._check(call))
        elif isinstance(delta, ThinkingDelta):
            journal.publish(StreamChunk, text=well_formed(delta.text), thinking=True, n=journal.next_n())
        elif isinstance(delta, ThinkingDone):
            self._parts.append(delta.part)
        else:
            self.done = delta
