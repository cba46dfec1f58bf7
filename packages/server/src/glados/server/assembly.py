"""The app as the daemon and the command line open it: installed plugins, settings from files and the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from glados.core import App, Layer, Services


def open_app(
    layers: Sequence[Layer],
    *,
    extra: Callable[[Services], None] | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    recovers: bool = False,
) -> AbstractAsyncContextManager[App]:
    """Open the app with every installed plugin; `extra` registers services before the plugins are set up.

    One that `recovers` lets runs go on that a dead process has left.
    """
    return App.open(layers=layers, environ=environ, services=extra, settings=overrides, recovers=recovers)
