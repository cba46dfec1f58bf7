"""What can happen, one type each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from glados.core.errors import GladosError
from glados.core.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened; one that is stored has a `seq`, one that is only told has an `n` within its run."""

    type: ClassVar[str] = ""

    session_id: str | None = None
    run_id: str | None = None
    seq: int | None = None
    n: int | None = None

    def payload(self) -> dict[str, Any]:
        """What this type of event tells, as JSON."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The event as every client reads it."""
        data: dict[str, Any] = {"type": self.type, "session_id": self.session_id, "run_id": self.run_id}
        if self.seq is not None:
            data["seq"] = self.seq
        if self.n is not None:
            data["n"] = self.n
        data["payload"] = self.payload()
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated(Event):
    """A session began."""

    type = "session:created"
    session: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The session."""
        return self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdated(Event):
    """A session has another title, other tags, or goes on behind another entry."""

    type = "session:updated"
    session: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The session."""
        return self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted(Event):
    """A session was deleted."""

    type = "session:deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCreated(Event):
    """A message was written down."""

    type = "message:created"
    entry_id: str
    message: Message

    def payload(self) -> dict[str, Any]:
        """The message and its entry."""
        return {"id": self.entry_id, **self.message.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCreated(Event):
    """A plugin wrote an entry of its own down."""

    type = "session:entry"
    entry_id: str
    entry: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The entry's type and data."""
        return {"id": self.entry_id, "type": self.entry["type"], "data": self.entry["data"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequested(Event):
    """A person is asked."""

    type = "permission:requested"
    question: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The question."""
        return self.question


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionGranted(Event):
    """A question was answered with yes."""

    type = "permission:granted"
    question_id: str
    answer: str
    principal: str

    def payload(self) -> dict[str, Any]:
        """Which question, how and by whom."""
        return {"id": self.question_id, "answer": self.answer, "principal": self.principal}


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRefused(Event):
    """A question was answered with no, or not in time."""

    type = "permission:denied"
    question_id: str
    why: str
    principal: str

    def payload(self) -> dict[str, Any]:
        """Which question, why and by whom."""
        return {"id": self.question_id, "why": self.why, "principal": self.principal}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run began to work on a prompt."""

    type = "agent:run_start"
    model: str

    def payload(self) -> dict[str, Any]:
        """Which model answers."""
        return {"model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetried(Event):
    """A model call failed and is made again; what was streamed of the answer does not count."""

    type = "agent:model_retry"
    model: str
    error: GladosError
    delay: float

    def payload(self) -> dict[str, Any]:
        """Which model, why, and in how many seconds."""
        return {"model": self.model, "error": self.error.to_dict(), "delay": self.delay}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged(Event):
    """Another model goes on; what was streamed of the answer does not count."""

    type = "agent:model_change"
    change: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """From which model to which, and why."""
        return self.change


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(Event):
    """The older part of the history was replaced by a summary; the log keeps all of it."""

    type = "agent:compaction"
    compaction: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The summary, and from where on the history stays."""
        return self.compaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChunk(Event):
    """A piece of the answer, as the model writes it."""

    type = "agent:stream_chunk"
    text: str
    thinking: bool = False

    def payload(self) -> dict[str, Any]:
        """The text, and whether it is thinking."""
        return {"text": self.text, "thinking": self.thinking}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted(Event):
    """A tool call passed its checks and begins."""

    type = "agent:tool_call_start"
    call_id: str
    tool_id: str
    input: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """Which tool, with what."""
        return {"call_id": self.call_id, "tool_id": self.tool_id, "input": self.input}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(Event):
    """A tool tells how far it is."""

    type = "agent:tool_progress"
    call_id: str
    tool_id: str
    message: str
    done: float | None = None
    total: float | None = None

    def payload(self) -> dict[str, Any]:
        """The words and the numbers."""
        return {
            "call_id": self.call_id,
            "tool_id": self.tool_id,
            "message": self.message,
            "done": self.done,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnded(Event):
    """A tool call ended, well or not."""

    type = "agent:tool_call_end"
    call_id: str
    tool_id: str
    text: str
    code: str | None = None
    untrusted: bool = False
    meta: tuple[dict[str, Any], ...] = ()

    def payload(self) -> dict[str, Any]:
        """How it ended and what the model reads of it."""
        return {
            "call_id": self.call_id,
            "tool_id": self.tool_id,
            "text": self.text,
            "is_error": self.code is not None,
            "code": self.code,
            "untrusted": self.untrusted,
            "meta": list(self.meta),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """A run ended: the answer, or the error."""

    type = "agent:run_end"
    result: dict[str, Any]
    error: GladosError | None = None

    def payload(self) -> dict[str, Any]:
        """The result as `/api/chat` answers it, and the error if there is one."""
        return {**self.result, "error": self.error.to_dict() if self.error else None}
