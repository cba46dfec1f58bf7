"""Every hook that a plugin can implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from glados.core.plugins import Prepare
    from glados.core.services import Services

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
def teardown(services: Services) -> None:  # pyright: ignore[reportUnusedParameter]
    """Free what setup took; called once at stop, in reverse order."""
