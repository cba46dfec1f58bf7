"""Leases: locks that a process holds until it gives them back or ends, however it ends; no clock is asked.

A child that is forked holds none of its parent's leases: they are let go in it at once. A fork that Python does not
know of, in C code, has to close the inherited descriptors itself.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import weakref
from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from glados.database.errors import DatabaseUnavailable
from glados.database.lease_files import LEASE_ID, LeaseFiles
from glados.database.lease_locks import LeaseLocks
from glados.database.migrator import in_thread
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl

T = TypeVar("T")

SHORTEST_WAIT, LONGEST_WAIT = 0.1, 5.0


class Keeper(Protocol):
    """Who keeps the leases of one service: the operating system, or a server. Its methods block."""

    @property
    def lost(self) -> Collection[str]:
        """The leases that could not be taken again."""
        ...

    def take(self, id: str) -> None:
        """Hold a lease under a new id."""
        ...

    def give_back(self, id: str) -> None:
        """Hold it no longer."""
        ...

    def alive(self, id: str) -> bool:
        """Whether somebody holds it."""
        ...

    @property
    def socket(self) -> int | None:
        """A descriptor that becomes readable when leases may be lost, if there is one."""
        ...

    def check(self) -> None:
        """See that what is held is still held, and take again what can be."""
        ...

    def forget(self) -> None:
        """Let go of everything in a child after a fork."""
        ...

    def close(self) -> None:
        """Give back all."""
        ...


_KEEPERS: weakref.WeakSet[Keeper] = weakref.WeakSet()


def _forget_all() -> None:
    for keeper in list(_KEEPERS):
        keeper.forget()


os.register_at_fork(after_in_child=_forget_all)


class Lease:
    """What this process holds; others see by its id whether it still does."""

    def __init__(self, id: str, leases: Leases) -> None:
        self.id = id
        self._leases = leases

    @property
    def lost(self) -> bool:
        """Whether it is gone although it was not given back: others saw it dead while the server was out of reach."""
        return self._leases.is_lost(self.id)

    async def release(self) -> None:
        """Give it back."""
        await self._leases.release(self.id)


class Leases:
    """The leases of one service, and a look at those of others."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._keeper: Keeper = LeaseFiles(url) if url.kind == "sqlite" else LeaseLocks(url, settings)
        self._turn = asyncio.Lock()
        self._watched: int | None = None
        self._returning: asyncio.Task[None] | None = None
        _KEEPERS.add(self._keeper)

    async def take(self) -> Lease:
        """A new lease."""
        id = secrets.token_hex(16)
        try:
            await self._do(lambda: self._keeper.take(id))
        except BaseException:
            await self._do(lambda: self._keeper.give_back(id))
            raise
        return Lease(id, self)

    async def release(self, id: str) -> None:
        """Give one back."""
        await self._do(lambda: self._keeper.give_back(id))

    async def is_alive(self, id: str) -> bool:
        """Whether anybody, in any process, holds the lease now."""
        # Whatever else it is, it is no lease, and must not become the name of a file.
        return LEASE_ID.fullmatch(id) is not None and await self._do(lambda: self._keeper.alive(id))

    def is_lost(self, id: str) -> bool:
        """Whether a lease that was held here is gone."""
        return id in self._keeper.lost

    async def close(self) -> None:
        """Give back all."""
        if self._returning is not None:
            self._returning.cancel()
            await asyncio.wait({self._returning})
        await self._do(self._keeper.close)

    async def _do(self, work: Callable[[], T]) -> T:
        """Have the keeper do something in a thread; its answers must not pass for news on the watched descriptor."""
        async with self._turn:
            self._unwatch()
            try:
                return await in_thread(lambda stop: work())
            finally:
                self._watched = self._keeper.socket
                if self._watched is not None:
                    asyncio.get_running_loop().add_reader(self._watched, self._heard)

    def _unwatch(self) -> None:
        if self._watched is not None:
            asyncio.get_running_loop().remove_reader(self._watched)
            self._watched = None

    def _heard(self) -> None:
        """The server said something unasked, most likely that it ends."""
        self._unwatch()
        if self._returning is None:
            self._returning = asyncio.get_running_loop().create_task(self._return())

    async def _return(self) -> None:
        """Take again what was lost, as soon as the server can be reached."""
        wait = SHORTEST_WAIT
        try:
            while True:
                try:
                    return await self._do(self._keeper.check)
                except DatabaseUnavailable:
                    await asyncio.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)
        finally:
            self._returning = None
