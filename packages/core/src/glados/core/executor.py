"""Many tool calls: concurrent ones together, the others alone, results in the order of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from glados.core.foreign import failure
from glados.core.outcomes import failed
from glados.core.pipeline import CallAborted, Checked, aborted
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
        self._released = False
        self._changed: asyncio.Event | None = None  # only while somebody waits: most of what a waiting run holds

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
                self._changed = asyncio.Event()
                await self._changed.wait()

    async def abort(self) -> list[ToolResult]:
        """Stop what runs and give every call a result."""
        for item in self._items:
            if item.checked is not None and item.task is None and item.result is None:
                item.result = aborted(item.checked, "had not begun")
        tasks = [item.task for item in self._items if item.task is not None and not item.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ABORT_GRACE)
        for item in self._items:
            if item.checked is not None and item.result is None:
                item.result = aborted(item.checked, "had begun and its outcome is unknown")
        return [item.result for item in self._items if item.result is not None]

    def _advance(self) -> None:
        """Start what may start: a concurrent call beside concurrent ones, any other when all before it have ended."""
        first = True
        for item in self._items:
            if item.checked is None or item.result is not None:
                continue
            flags = item.checked.flags
            if item.task is None and (self._released or flags.read_only) and (flags.concurrent or first):
                item.task = asyncio.create_task(self._work(item, item.checked), name=f"call {item.checked.tool.id}")
            if not flags.concurrent:
                return
            first = False

    async def _work(self, item: _Item, checked: Checked) -> None:
        try:
            item.result = await self._run(checked)
        except CallAborted as error:
            item.result = error.result
        except asyncio.CancelledError:
            item.result = aborted(checked, "had begun and its outcome is unknown")
        except (Exception, SystemExit) as error:  # the pipeline tells its failures; what comes here is a fault of ours
            item.result = failed(checked.call, failure(f"The call of {checked.tool.id}", error))
        if self._changed is not None:
            self._changed.set()
        self._advance()
