"""The app of one command: its settings, its log, and the app itself, open while the command works."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, redirect_stdout
from typing import Any, TypeVar

from glados.core import (
    App,
    CommandContext,
    GladosSettings,
    MemorySessionStore,
    Services,
    Settings,
    discover,
    installed,
)
from glados.core.errors import ConfigurationError
from glados.core.settings import DEFAULT
from glados.server.assembly import open_app
from glados.server.cli import logs
from glados.server.cli.invocation import Invocation
from glados.server.settings import file_layers

T = TypeVar("T")


def command_context(invocation: Invocation) -> CommandContext:
    """What the command of a feature works with: the settings and the plugins, discovered but not started."""
    settings = Application(invocation).settings
    with redirect_stdout(sys.stderr):  # stdout belongs to the command
        found = discover(installed(), settings)
    data_dir = settings.section("glados", GladosSettings).load().data_dir
    return CommandContext(settings, found.plugins, found.records, data_dir)


class Application:
    """What a command can be run with; reading the settings is the first thing that can fail."""

    def __init__(
        self, invocation: Invocation, overrides: Mapping[str, Mapping[str, Any]] | None = None, *, quiet: bool = True
    ) -> None:
        self._layers = file_layers(invocation.config)
        self._overrides = dict(overrides or {})
        if invocation.log_level:
            self._overrides["glados"] = {"log_level": invocation.log_level.lower()}
        self.settings = Settings(self._layers, None, self._overrides)
        logs.configure(self._log_level(quiet=quiet), debug=invocation.debug)

    def open(
        self, extra: Callable[[Services], None] | None = None, *, recovers: bool = False
    ) -> AbstractAsyncContextManager[App]:
        """Start the plugins; they are stopped when the block ends."""
        return open_app(self._layers, extra=extra, overrides=self._overrides, recovers=recovers)

    def run(self, work: Callable[[App], Awaitable[T]]) -> T:
        """Open the app, do the work, and give its result."""

        async def opened() -> T:
            async with self.open() as app:
                return await work(app)

        return asyncio.run(opened())

    def run_on_sessions(self, work: Callable[[App], Awaitable[T]]) -> T:
        """Do work on the sessions that are stored; where none can be, that is said instead of an empty answer."""

        async def checked(app: App) -> T:
            if type(app.sessions) is MemorySessionStore:
                raise _not_stored(app)
            return await work(app)

        return self.run(checked)

    def _log_level(self, *, quiet: bool) -> str:
        """What was asked for; a command that answers and ends says less by itself than the daemon."""
        section = self.settings.section("glados", GladosSettings)
        level = section.load().log_level
        given = next(setting for setting in section.values if setting.name == "log_level").source != DEFAULT
        return level if given or not quiet else "warning"


def _not_stored(app: App) -> ConfigurationError:
    failed = [f"the plugin {record.id!r} failed: {record.reason}" for record in app.plugins if record.state == "failed"]
    why = " ".join(failed) or "the plugin 'conversations' is not enabled."
    return ConfigurationError(f"Sessions are stored nowhere, so that there is none to work on: {why}")
