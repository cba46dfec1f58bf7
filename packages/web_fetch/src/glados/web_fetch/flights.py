"""Equal work for many at once is done once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class Flights(Generic[T]):
    """Work under way by its key; whoever asks for the same waits for it instead of beginning anew.

    The work has a task of its own: who is cancelled leaves the others waiting, and the last one to leave ends it.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def join(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """What comes of the work, an error included, and whether it was begun for this caller."""
        flight = self._flights.get(key)
        leads = flight is None
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work(), name=f"web-fetch {key}"))
            flight.task.add_done_callback(lambda _: self._land(key, flight))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), leads
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)
                flight.task.cancel()

    async def close(self) -> None:
        """End all work under way, and wait until it has ended."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _land(self, key: Hashable, flight: _Flight[T]) -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # whoever waited has been told; nobody may wait any more

    def _forget(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
