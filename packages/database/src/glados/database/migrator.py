"""The way from the event loop to the migrations: in a thread, and stopped when the caller is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

from glados.core import Plugin
from glados.database.migrations import Migrations
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl

T = TypeVar("T")


class SqlMigrator:
    """Core's `Migrator`: applies a plugin's migrations before the plugin is set up."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._migrations = Migrations(url, settings)
        self._check = settings.migrate == "check"

    async def apply(self, plugin: type[Plugin[Any]]) -> None:
        """Apply what is missing; a failure leaves nothing half done."""
        await in_thread(lambda stop: self._migrations.apply(plugin, stop, check=self._check))


async def in_thread(work: Callable[[Event], T]) -> T:
    """Run blocking work in a thread; a cancelled caller tells it to stop and waits until it has."""
    stop = Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({task})
        if not task.cancelled():
            # Whatever it ended with, nobody waits for it any more.
            task.exception()
        raise
