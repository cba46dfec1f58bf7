"""The plugin host: starts plugins in order, asks them what they contribute, stops them; the only caller of hooks."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any, cast

from glados.core import foreign
from glados.core.discovery import Discovery, PluginsSettings, missing_requirement
from glados.core.errors import GladosError, HookTimeout, PluginError, ServiceNotFound
from glados.core.migrations import Migrator
from glados.core.plugins import Plugin, PluginRecord, Prepare, hook
from glados.core.services import Services
from glados.core.tool_hooks import ToolHooks
from glados.core.tools import Tool

log = logging.getLogger("glados.plugins")


class PluginHost:
    """The plugins of one app, from start to stop."""

    def __init__(self, discovery: Discovery, services: Services, options: PluginsSettings) -> None:
        self._discovery = discovery
        self._services = services
        self._options = options
        self._started: list[Plugin[Any]] = []
        self.tool_hooks = ToolHooks(options.timeout)

    @property
    def records(self) -> list[PluginRecord]:
        """Every plugin that was found, with its state."""
        return self._discovery.records

    async def start(self) -> None:
        """Migrate and set up every plugin; one that fails is taken back and listed, and the others go on."""
        for plugin in self._discovery.plugins:
            record = self._discovery.record(plugin.id)
            lost = next((id for id in plugin.needs() if not self._runs(id)), None)
            if lost is not None:
                record.fail(missing_requirement(lost, self._discovery))
                continue
            try:
                await self._set_up(plugin)
                self._started.append(plugin)
                self.tool_hooks.add(plugin)
            except GladosError as error:
                await self._quarantine(plugin, error)
        await self._rehearse()
        failed = [record for record in self.records if record.state == "failed"]
        if failed and self._options.strict:
            told = " ".join(f"{record.id}: {record.reason}" for record in failed)
            raise PluginError(f"PLUGINS_STRICT is set and a plugin failed. {told}", plugins=[r.id for r in failed])

    async def prepare(self, prepare: Prepare) -> Prepare:
        """Ask every plugin for its tools and context; one that fails contributes nothing this time."""
        if prepare.purpose != "list":  # it is of use where something was cut
            prepare.tools.append(_built_in())
        for plugin in list(self._started):
            if not self._runs(plugin.id):  # what it requires has just been quarantined
                continue
            record = self._discovery.record(plugin.id)
            try:
                part = await self._contribution(plugin, prepare)
            except HookTimeout as error:
                await self._quarantine(plugin, error)
                continue
            except GladosError as error:
                log.warning("plugin %s contributes nothing: %s", plugin.id, error.message)
                record.reason = error.message
                continue
            record.reason = None
            prepare.tools.extend(part.tools)
            prepare.context.extend(part.context)
            prepare.items.extend((plugin.id, text) for text in part.context)
        return prepare

    async def stop(self) -> None:
        """Tear down every plugin, last first, whatever the others do."""
        while self._started:
            await self._tear_down(self._started.pop())

    def _runs(self, id: str) -> bool:
        return any(plugin.id == id for plugin in self._started)

    async def _set_up(self, plugin: Plugin[Any]) -> None:
        services = self._services.owned_by(plugin.id)
        if plugin.migrations is not None:
            await _migrate(services, plugin)
        await self._call(plugin, "setup", services)
        await services.open_resources(self._options.timeout)

    async def _rehearse(self) -> None:
        """Prepare once, so that a plugin whose contribution cannot be used is found at the start."""
        for plugin in list(self._started):
            if not self._runs(plugin.id):
                continue
            try:
                await self._contribution(plugin, Prepare("list"))
            except GladosError as error:
                await self._quarantine(plugin, error)

    async def _contribution(self, plugin: Plugin[Any], prepare: Prepare) -> Prepare:
        part = Prepare(prepare.purpose, prepare.session)
        await self._call(plugin, "prepare", part)
        _check(plugin, part)
        part.tools.sort(key=lambda tool: tool.id)
        return part

    async def _call(self, plugin: Plugin[Any], name: str, argument: Services | Prepare) -> None:
        function = hook(plugin, name)
        if function is not None:
            what = f"The hook {name!r} of plugin {plugin.id!r}"
            accepts = inspect.signature(function).parameters
            await foreign.call(what, function, self._options.timeout, *([argument] if accepts else []))

    async def _quarantine(self, plugin: Plugin[Any], error: GladosError) -> None:
        """Take back what a plugin registered, list it as failed, and do the same to whatever requires it."""
        log.debug("plugin %s failed", plugin.id, exc_info=error)
        self._discovery.record(plugin.id).fail(error.message)
        for other in reversed(list(self._started)):
            if other is not plugin and plugin.id in other.needs():
                await self._quarantine(other, PluginError(missing_requirement(plugin.id, self._discovery)))
        if plugin in self._started:
            self._started.remove(plugin)
            await self._tear_down(plugin)
        else:
            await self._services.close(self._options.timeout, owner=plugin.id)

    async def _tear_down(self, plugin: Plugin[Any]) -> None:
        self.tool_hooks.remove(plugin)
        services = self._services.owned_by(plugin.id)
        try:
            await self._call(plugin, "teardown", services)
        except GladosError as error:
            log.warning("teardown of plugin %s: %s", plugin.id, error.message)
        for failure in await services.close(self._options.timeout, owner=plugin.id):
            log.warning("teardown: %s", failure)


def _built_in() -> Tool:
    """The tool of glados itself; its schema costs more to make than most imports, so it is made when it is wanted."""
    from glados.core.artifact_tool import read_artifact

    return read_artifact


async def _migrate(services: Services, plugin: Plugin[Any]) -> None:
    try:
        migrator = services.get(Migrator)
    except ServiceNotFound:
        raise PluginError("It has migrations, but nothing here applies them: enable the plugin 'database'.") from None
    try:
        await migrator.apply(type(plugin))
    except (GladosError, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise foreign.failure(f"The migration of plugin {plugin.id!r}", error) from error


def _check(plugin: Plugin[Any], part: Prepare) -> None:
    """Whether what a plugin appended can be used."""
    seen: set[str] = set()
    for tool in cast("list[object]", part.tools):
        if not isinstance(tool, Tool):
            raise PluginError(f"It appended {tool!r} to the tools, which is no Tool: decorate it with @tool(…).")
        if not tool.id.startswith(f"{plugin.id}."):
            raise PluginError(f"Its tool {tool.id!r} does not begin with its own id: name it '{plugin.id}.…'.")
        if tool.id in seen:
            raise PluginError(f"It has two tools with the id {tool.id!r}.")
        seen.add(tool.id)
    for item in cast("list[object]", part.context):
        if not isinstance(item, str):
            raise PluginError(f"It appended {item!r} to the context, which is no text.")
