"""Every hook that a plugin can implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from glados.core.plugins import Prepare
    from glados.core.services import Services
    from glados.core.tool_hooks import ToolCall, ToolOutcome

PROJECT = "glados"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def setup(services: Services) -> None:  # pyright: ignore[reportUnusedParameter]
    """Register services; called once at start, after the plugin's tables are migrated."""


@hookspec
def prepare(prepare: Prepare) -> None:  # pyright: ignore[reportUnusedParameter]
    """Append tools and context items; called before every run, listing and call."""


@hookspec
def before_tool(call: ToolCall) -> None:  # pyright: ignore[reportUnusedParameter]
    """Deny a call, change its input, or answer the default question with yes; called before its permission."""


@hookspec
def after_tool(call: ToolCall, result: ToolOutcome) -> None:  # pyright: ignore[reportUnusedParameter]
    """Change what came of a call; called when the tool has ended, before the result is cut to its limit."""


@hookspec
def teardown(services: Services) -> None:  # pyright: ignore[reportUnusedParameter]
    """Free what setup took; called once at stop, in reverse order."""
