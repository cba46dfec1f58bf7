"""Errors that a test expects."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from glados.core.errors import GladosError

E = TypeVar("E", bound=GladosError)


async def refused(asking: Awaitable[object], error: type[E]) -> E:
    """The error that something raises."""
    try:
        await asking
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__} was raised")
