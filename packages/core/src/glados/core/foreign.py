"""Running code that is not ours: an import, a hook, a tool, with a time limit and every way to fail contained.

Blocking code in the main thread is interrupted by an interval timer, armed only while the foreign code itself runs.
Code stuck in C is not interrupted, and outside the main thread nothing is.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import inspect
import logging
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from glados.core.errors import GladosError, HookTimeout, PluginError

T = TypeVar("T")
log = logging.getLogger("glados.plugins")
_REPEAT = 0.05  # seconds until the alarm rings again, for code that catches everything
_GRACE = 0.5  # seconds that cancelled code gets to clean up before it is left behind


class Expired(BaseException):
    """Raised inside foreign code when its time is up; no `except Exception` catches it."""


class _Alarm:
    """Interrupt the block after some seconds, if this is the main thread; an outer timer goes on afterwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(seconds, 0.001)
        self._armed = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            return
        self._started = time.monotonic()
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        self._armed = True
        self._outer = signal.setitimer(signal.ITIMER_REAL, self._seconds, _REPEAT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._armed:
            return
        self._armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler or signal.SIG_DFL)
        left, interval = self._outer
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - self._started), 0.001), interval)

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        # An exception on the way in or out would leave the timer running, and it would ring in code that is ours.
        if self._armed and (frame is None or frame.f_code not in _DOORS):
            raise Expired


_DOORS: tuple[CodeType, ...] = (_Alarm.__enter__.__code__, _Alarm.__exit__.__code__)


class _OwnTasks:
    """Contain the tasks that foreign code starts: a SystemExit that leaves one of them would end the loop."""

    def __enter__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._outer = self._loop.get_task_factory()
        self._loop.set_task_factory(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.set_task_factory(self._outer)

    def _task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        contained = _without_exit(coroutine)
        return self._outer(loop, contained, **options) if self._outer else asyncio.Task(contained, loop=loop, **options)


async def _without_exit(work: Any) -> Any:
    try:
        return await work
    except SystemExit as error:
        log.warning("a task that a plugin started called sys.exit(%r)", error.code)
        return None


class Stepped:
    """Awaits a coroutine with the alarm set around each of its steps, so that only its own code is interrupted."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], timeout: float) -> None:
        self._coroutine = coroutine
        self._deadline = time.monotonic() + timeout
        self._given_up = False

    def give_up(self) -> None:
        """Take no further step, whatever the coroutine does about being cancelled."""
        self._given_up = True

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[Any], Any] = self._coroutine.send
        value: Any = None
        while True:
            try:
                with _Alarm(self._deadline - time.monotonic()), _OwnTasks():
                    waiting = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield waiting
                step = self._coroutine.send
            except BaseException as error:
                if self._given_up:
                    self._drop()
                    raise Expired from None
                self._deadline = max(self._deadline, time.monotonic() + _GRACE)
                value = error
                step = self._coroutine.throw

    def _drop(self) -> None:
        try:
            with _Alarm(_GRACE):
                self._coroutine.close()
        except BaseException:
            # Collecting it would wake it once more, when no loop runs and nothing can stop it: it is never collected.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._coroutine))


def load(what: str, loader: Callable[[], T], timeout: float) -> T:
    """Call a function of ours that imports or makes something foreign, here and now."""
    try:
        with _Alarm(timeout):
            return loader()
    except Expired:
        raise HookTimeout(f"{what} took longer than {timeout:g} s.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise failure(what, error) from error


async def call(what: str, function: Callable[..., Any], timeout: float, /, *args: Any, **kwargs: Any) -> Any:
    """Call a foreign function: async ones in a task under the alarm, the others in a thread that can be left behind."""
    value, error = await outcome(what, function, timeout, *args, **kwargs)
    if error is not None:
        raise failure(what, error) from error
    return value


async def outcome(
    what: str, function: Callable[..., Any], timeout: float, /, *args: Any, **kwargs: Any
) -> tuple[Any, BaseException | None]:
    """What a foreign function returned or raised; a HookTimeout if it did neither in time."""
    deadline = time.monotonic() + timeout
    bound = functools.partial(function, *args, **kwargs)
    if inspect.iscoroutinefunction(function):
        value, error = await _in_task(what, bound, timeout)
    else:
        value, error = await _wait(in_thread(what, bound), timeout)
        if error is None and inspect.iscoroutine(value):  # a plain function around an async one
            value, error = await _in_task(what, lambda: value, deadline - time.monotonic())
    if isinstance(error, Expired):
        return None, HookTimeout(f"{what} took longer than {timeout:g} s.")
    return value, error


async def _in_task(what: str, function: Callable[[], Any], timeout: float) -> tuple[Any, BaseException | None]:
    try:
        stepped = Stepped(function(), timeout)
    except Exception as error:  # arguments that do not fit
        return None, error
    return await _wait(asyncio.create_task(_contain(stepped), name=what), timeout, stepped)


async def _wait(work: asyncio.Future[Any], timeout: float, stepped: Stepped | None = None) -> Any:
    try:
        await asyncio.wait({work}, timeout=timeout)
    except asyncio.CancelledError:
        await leave(work, stepped)
        raise
    if not work.done():
        await leave(work, stepped)
        return None, Expired()
    return (None, asyncio.CancelledError()) if work.cancelled() else work.result()


async def leave(work: asyncio.Future[Any], stepped: Stepped | None) -> None:
    """Cancel work and give it a moment to clean up; what does not end then is left behind."""
    work.cancel()
    if stepped is not None:
        await asyncio.wait({work}, timeout=_GRACE)
        stepped.give_up()
        work.cancel()
        await asyncio.wait({work}, timeout=_GRACE)


def in_thread(what: str, function: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """Run a function in a daemon thread, so that one that never ends does not keep the process alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(outcome: tuple[Any, BaseException | None]) -> None:
        if not future.done():
            future.set_result(outcome)

    def body() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = function(), None
        except BaseException as error:
            outcome = None, error
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(deliver, outcome)

    threading.Thread(target=body, name=what, daemon=True).start()
    return future


def failure(what: str, error: BaseException) -> GladosError:
    """What foreign code raised, as an error that names the culprit in one sentence."""
    if isinstance(error, GladosError):
        return error
    if isinstance(error, SystemExit):
        return PluginError(f"{what} called sys.exit({error.code!r}).")
    text = " ".join(str(error).split())
    return PluginError(f"{what} raised {type(error).__name__}{': ' + text if text else ''}.")


async def _contain(work: Any) -> tuple[Any, BaseException | None]:
    """Await something and give its error back as a value: a SystemExit that leaves a task would end the loop."""
    try:
        return await work, None
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return None, error
