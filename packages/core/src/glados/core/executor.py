"""Many tool calls: concurrent ones together, the others alone, results in the order of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from glados.core.errors import ToolAborted
from glados.core.foreign import failure
from glados.core.pipeline import Checked, failed
from glados.core.tools import ToolResult

ABORT_GRACE = 2.0  # seconds that aborted tools get to clean up before they are left behind


@dataclass(slots=True, eq=False)
class _Item:
    checked: Checked | None
    result: ToolResult | None = None
    task: asyncio.Task[None] | None = None


class Executor:
    """The calls of one model answer.

    Read-only calls start as they are added; the others wait until `release`, when the message that asks for them is
    stored. A call that is not concurrent runs alone, and whatever comes behind it waits for it.
    """

    def __init__(self, run: Callable[[Checked], Awaitable[ToolResult]]) -> None:
        self._run = run
        self._items: list[_Item] = []
        self._running: set[_Item] = set()
        self._released = False
        self._changed = asyncio.Event()

    def add(self, call: Checked | ToolResult) -> None:
        """Take a call, or one that failed its check already."""
        self._items.append(_Item(None, call) if isinstance(call, ToolResult) else _Item(call))
        self._advance()

    def release(self) -> None:
        """Let calls start that change something."""
        self._released = True
        self._advance()

    async def results(self) -> AsyncIterator[list[ToolResult]]:
        """The results in the order of the calls, told in groups as soon as all before them are there."""
        told = 0
        while told < len(self._items):
            ready: list[ToolResult] = []
            for item in self._items[told:]:
                if item.result is None:
                    break
                ready.append(item.result)
            if ready:
                told += len(ready)
                yield ready
            else:
                self._changed.clear()
                await self._changed.wait()

    async def abort(self) -> list[ToolResult]:
        """Stop what runs and give every call a result."""
        self._released = False
        queued = [item for item in self._items if item.task is None and item.result is None]
        for item in queued:
            self._abort(item, "had not begun")
        tasks = [item.task for item in self._running if item.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ABORT_GRACE)
        for item in self._items:
            if item.result is None:
                self._abort(item, "had begun and its outcome is unknown")
        return [item.result for item in self._items if item.result is not None]

    @staticmethod
    def _abort(item: _Item, how_far: str) -> None:
        if item.checked is not None:
            error = ToolAborted(f"The run was aborted; {item.checked.tool.id} {how_far}.", tool=item.checked.tool.id)
            item.result = failed(item.checked.call, error)

    def _advance(self) -> None:
        for item in self._items:
            if item.checked is None or item.task is not None or item.result is not None:
                continue
            flags = item.checked.flags
            joins = flags.concurrent and all(
                other.checked and other.checked.flags.concurrent for other in self._running
            )
            if (self._released or flags.read_only) and (joins or not self._running):
                self._running.add(item)
                item.task = asyncio.create_task(self._work(item, item.checked), name=f"call {item.checked.tool.id}")
            elif not joins:
                return

    async def _work(self, item: _Item, checked: Checked) -> None:
        try:
            item.result = await self._run(checked)
        except Exception as error:  # the pipeline tells its failures; what comes here is a fault of ours
            item.result = failed(checked.call, failure(f"The call of {checked.tool.id}", error))
        finally:
            self._running.discard(item)
            self._changed.set()
            if item.result is not None:
                self._advance()
