"""The place of the open App: empty while the daemon starts and stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from glados.core import App
from glados.server.problems import Refusal


@dataclass(slots=True)
class AppSlot:
    """What routes and the guard need to know of the daemon."""

    app: App | None = None
    token: str | None = None


def slot_of(request: Request) -> AppSlot:
    """The slot that `create_app` was given."""
    slot: AppSlot = request.app.state.slot
    return slot


def opened_app(request: Request) -> App:
    """The open App; a request that comes too early or too late is told to try again."""
    app = slot_of(request).app
    if app is None:
        raise Refusal(503, "not_ready", "The server is starting or stopping: ask /readyz and try again.")
    return app


OpenedApp = Annotated[App, Depends(opened_app)]
