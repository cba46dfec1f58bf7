"""Processes that die: stores on one disk, of which each can stop to write, and a model that goes by the history."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glados.core import App, Draft, Entry, Message, ModelDelta, ModelDone, ModelRequest, RunStart, TextDelta, Usage
from glados.core.errors import RunLost
from glados.core.messages import ToolCallPart, ToolResultPart
from glados.core.model import ToolCallDelta
from glados.core.session_memory import MemorySessionStore
from glados.core.sessions import OpenRun

Reply = list[str | ToolCallPart]


@dataclass(slots=True)
class Disk:
    """What outlasts the processes: the logs, and who works on which run."""

    logs: dict[str, Any] = field(default_factory=dict[str, Any])
    owners: dict[str, Process] = field(default_factory=dict[str, "Process"])
    resumed: Counter[str] = field(default_factory=Counter[str])


class Process(MemorySessionStore):
    """The store as one process has it; it dies with its n-th append, after which it can write nothing."""

    def __init__(self, disk: Disk, dies_after: int | None = None) -> None:
        super().__init__()
        self._logs = disk.logs
        self.disk = disk
        self.left = dies_after
        self.died = asyncio.Event()

    def kill(self) -> None:
        self.died.set()

    async def append(
        self, session_id: str, drafts: Sequence[Draft], *, opens: RunStart | None = None
    ) -> Sequence[Entry]:
        if self.died.is_set():
            raise OSError("this process is dead")
        for draft in drafts:
            if draft.run_id is not None and self.disk.owners.get(draft.run_id, self) is not self:
                raise RunLost("Another process has taken the run over.")
        entries = await super().append(session_id, drafts, opens=opens)
        if opens is not None:
            self.disk.owners[opens.id] = self
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.kill()
        return entries

    async def open_runs(self, session_id: str | None = None) -> list[OpenRun]:
        found: list[OpenRun] = []
        for run in await super().open_runs(session_id):
            owner = self.disk.owners[run.id]
            resumed = self.disk.resumed[run.id]
            found.append(
                OpenRun(run.id, run.session_id, run.resumable, resumed, not owner.died.is_set(), owner is self)
            )
        return found

    async def adopt(self, run_id: str) -> bool:
        if not self.disk.owners[run_id].died.is_set():
            return False
        self.disk.owners[run_id] = self
        self.disk.resumed[run_id] += 1
        return True


class Teller:
    """A model whose next answer depends on nothing but the history: it has one for each that stands there."""

    name = "teller"

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.requests: dict[int, ModelRequest] = {}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        number = sum(message.role == "assistant" for message in request.messages)
        kept = ModelRequest(request.system, tuple(request.messages), tuple(request.tools), thinking=request.thinking)
        self.requests[number] = kept
        parts = self.replies[number]
        for part in parts:
            yield TextDelta(part) if isinstance(part, str) else ToolCallDelta(part)
        yield ModelDone("tool_calls" if isinstance(parts[-1], ToolCallPart) else "end", Usage(10, 2), self.name)

    async def close(self) -> None:
        """Nothing is held."""


async def until_dead(app: App, process: Process, prompt: str, session_id: str, **options: Any) -> None:
    """Let a run work until its process dies; what it would do afterwards is cut off."""
    running = asyncio.ensure_future(app.run(prompt, session=session_id, **options))
    dying = asyncio.ensure_future(process.died.wait())
    await asyncio.wait({running, dying}, return_when=asyncio.FIRST_COMPLETED)
    process.kill()
    dying.cancel()
    running.cancel()
    await asyncio.wait({running})


async def until_done(app: App, process: Process, answer: Any = "once") -> None:
    """Answer every question until no run is open, or the process is dead."""
    while not process.died.is_set() and await process.open_runs():
        for question in app.permissions.pending():
            app.permissions.answer(question.id, answer)
        await asyncio.sleep(0)
    process.kill()


def checked(entries: Sequence[Entry]) -> list[str]:
    """The log in short, after checking that each call has one result, and each question one answer."""
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    calls: list[str] = []
    asked: list[str] = []
    for entry in entries:
        message = entry.payload
        if not isinstance(message, Message):
            if entry.kind == "permission_question":
                asked.append(message["id"])
            elif entry.kind == "permission_answer":
                asked.remove(message["id"])
            continue
        if message.role != "tool":
            assert calls == []
        calls += [call.id for call in message.calls]
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                calls.remove(part.call_id)
    assert (calls, asked) == ([], [])
    return [shape(entry) for entry in entries]


def shape(entry: Entry) -> str:
    message = entry.payload
    if not isinstance(message, Message):
        return f"{entry.kind} {message.get('stop') or message.get('answer') or ''}".strip()
    results = [f"{part.call_id}={part.code or 'ok'}" for part in message.parts if isinstance(part, ToolResultPart)]
    texts = [message.text] if message.text else []
    return " ".join([message.role, *results, *texts, *(f"{call.id}?" for call in message.calls)])
