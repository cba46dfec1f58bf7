"""How many requests are under way at a time: in all, and to one host."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from glados.web_fetch.places import Places


@dataclass(slots=True)
class _Lane:
    """One host's share, and how many are in it or wait for it."""

    places: Places
    users: int = 0


class Lanes:
    """Lets so many in at a time, in the order in which they came."""

    def __init__(self, total: int, per_host: int) -> None:
        self._all = Places(total)
        self._per_host = per_host
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def enter(self, host: str) -> AsyncGenerator[None, None]:
        """A place for one request to the host; who waits for a slow host takes no place from the others."""
        lane = self._lanes.setdefault(host, _Lane(Places(self._per_host)))
        lane.users += 1
        try:
            async with lane.places, self._all:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[host]
