"""The CPU time that a conversion may take: the kernel holds the limit, and well before it there is a warning.

Whoever is warned in time can still give less: the words of a page that is too long to become Markdown.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

# Of the time that is left; the rest is for what is done instead.
WARNED_AT = 0.6


class OutOfTime(BaseException):
    """The warning; no other handler of errors is meant to catch it."""


def prepare() -> None:
    """Have this process ended by the one signal and warned by the other, whatever its parent did with them."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGVTALRM, _warn)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF, signal.SIGVTALRM])


def start(seconds: float) -> None:
    """From now on so many seconds of CPU time are left, also inside of C code; 0 takes the limit back."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


@contextmanager
def warned() -> Generator[None, None, None]:
    """Raise OutOfTime in this block when most of the time that was left is used up; never where there is no limit."""
    left, _ = signal.getitimer(signal.ITIMER_PROF)
    if left:
        signal.setitimer(signal.ITIMER_VIRTUAL, WARNED_AT * left)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _warn(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
