"""A resource that lives in a task of its own: entered, used by others, closed where it was entered.

Libraries built on anyio insist that a context is left in the task that entered it; hooks run in tasks that end. A task
for each resource satisfies both, and a resource that hangs can be left behind.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from glados.core import foreign
from glados.core.errors import GladosError, HookTimeout, PluginError


class Resource:
    """One async context manager, held open by its own task."""

    def __init__(self, factory: Callable[[], AbstractAsyncContextManager[Any]], label: str) -> None:
        self._factory = factory
        self._label = label
        self._stop = asyncio.Event()
        self._opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self._step: foreign.Stepped | None = None
        self._timeout = 0.0

    async def open(self, timeout: float) -> Any:
        """Enter it and give what it yields."""
        self._timeout = timeout
        self._task = asyncio.create_task(self._hold(), name=f"resource {self._label}")
        try:
            await asyncio.wait({self._opened, self._task}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await foreign.leave(self._task, self._step)
            raise
        if self._opened.done():
            return self._opened.result()
        if self._task.done() and self._error is not None and not isinstance(self._error, foreign.Expired):
            raise PluginError(self._told(self._error)) from self._error
        await foreign.leave(self._task, self._step)
        raise HookTimeout(f"{self._label} was not open after {timeout:g} s.")

    async def close(self, timeout: float) -> str | None:
        """Leave it; says what went wrong, if anything did."""
        if self._task is None:
            return None
        self._timeout = timeout
        self._stop.set()
        await asyncio.wait({self._task}, timeout=timeout)
        if not self._task.done() or isinstance(self._error, foreign.Expired):
            await foreign.leave(self._task, self._step)
            return f"{self._label} was not closed after {timeout:g} s"
        return self._told(self._error) if self._error is not None else None

    async def _hold(self) -> None:
        try:
            context = self._factory()
            value = await self._stepped(context.__aenter__())
            try:
                self._opened.set_result(value)
                await self._stop.wait()
            finally:
                await self._stepped(context.__aexit__(*sys.exc_info()))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # one that left the task would end the loop
            self._error = error

    async def _stepped(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        self._step = foreign.Stepped(coroutine, self._timeout)
        return await self._step

    def _told(self, error: BaseException) -> str:
        if isinstance(error, GladosError):
            return error.message
        return f"{self._label}: {type(error).__name__}: {error}".removesuffix(": ")
