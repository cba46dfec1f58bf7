"""A resource that lives in a task of its own: entered, used by others, closed where it was entered.

Libraries built on anyio insist that a context is left in the task that entered it; hooks run in tasks that end. A task
for each resource satisfies both, and a resource that hangs can be left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from glados.core.errors import HookTimeout, PluginError


class Resource:
    """One async context manager, held open by its own task."""

    def __init__(self, factory: Callable[[], AbstractAsyncContextManager[Any]], label: str) -> None:
        self._factory = factory
        self._label = label
        self._stop = asyncio.Event()
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self, timeout: float) -> Any:
        """Enter it and give what it yields."""
        self._task = asyncio.create_task(self._hold(), name=f"resource {self._label}")
        await asyncio.wait({self._opened}, timeout=timeout)
        if not self._opened.done():
            self._task.cancel()
            self._opened.cancel()
            raise HookTimeout(f"{self._label} was not open after {timeout:g} s.")
        return self._opened.result()

    async def close(self, timeout: float) -> str | None:
        """Leave it; says what went wrong, if anything did."""
        if self._task is None:
            return None
        self._stop.set()
        await asyncio.wait({self._task}, timeout=timeout)
        if not self._task.done():
            self._task.cancel()
            return f"{self._label} was not closed after {timeout:g} s"
        return self._failure

    async def _hold(self) -> None:
        try:
            async with self._factory() as value:
                if not self._opened.done():
                    self._opened.set_result(value)
                await self._stop.wait()
        except (Exception, SystemExit) as error:
            reason = f"{self._label}: {type(error).__name__}: {error}"
            if self._opened.done():
                self._failure = reason
            else:
                failure = PluginError(reason)
                failure.__cause__ = error
                self._opened.set_exception(failure)
