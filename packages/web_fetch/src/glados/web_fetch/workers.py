"""Work that blocks, in threads that can be left behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a daemon thread: one that goes on after its deadline does not hold up the exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(settle: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            settle(value)

    def body() -> None:
        settle: Callable[[Any], None] = future.set_result
        value: Any
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            settle, value = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(deliver, settle, value)

    threading.Thread(target=body, name=f"web-fetch {function.__name__}", daemon=True).start()
    return await future
