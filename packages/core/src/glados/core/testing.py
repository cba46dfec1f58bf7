"""What plugin authors test with: a model that follows a script, and an app that is isolated from the machine.

The fixture `glados_app` comes from the pytest plugin of `glados-core[testing]`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar

from glados.core.app import App
from glados.core.bus import Subscription
from glados.core.conformance import SessionStoreConformance
from glados.core.errors import GladosError
from glados.core.events import Event
from glados.core.hookspecs import hookimpl
from glados.core.messages import ToolCallPart, Usage
from glados.core.model import Model, ModelDelta, ModelDone, ModelRequest, TextDelta, ToolCallDelta
from glados.core.plugins import Plugin, Prepare
from glados.core.tools import Tool

__all__ = [
    "AppFactory",
    "Reply",
    "ScriptedModel",
    "SessionStoreConformance",
    "call",
    "next_of",
    "plugin_of",
]

E = TypeVar("E", bound=Event)
Reply = str | ToolCallPart | Sequence["str | ToolCallPart"] | GladosError


def call(tool_id: str, call_id: str | None = None, **input: Any) -> ToolCallPart:
    """A tool call for a scripted reply: `call("dice.roll", count=2)`."""
    return ToolCallPart(call_id or f"call_{tool_id}", tool_id, json.dumps(input))


def plugin_of(*tools: Tool, context: Sequence[str] = ()) -> type[Plugin]:
    """A plugin that brings these tools and nothing else; their ids say what its id is."""

    class ToolsPlugin(Plugin):
        id = tools[0].id.partition(".")[0]

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            prepare.tools.extend(tools)
            prepare.context.extend(context)

    return ToolsPlugin


async def next_of(events: Subscription, kind: type[E]) -> E:
    """Wait for the next event of that type; those before it are passed over."""
    async for event in events:
        if isinstance(event, kind):
            return event
    raise AssertionError(f"the subscription ended before a {kind.__name__}")


class ScriptedModel:
    """Answers with one scripted reply after the other: a text, a tool call, a list of both, or an error."""

    name = "scripted"

    def __init__(self, *replies: Reply) -> None:
        self.replies: list[Reply] = list(replies)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """The next reply; a request beyond the script fails, because a test must know what it asks."""
        kept = ModelRequest(request.system, tuple(request.messages), tuple(request.tools), thinking=request.thinking)
        self.requests.append(kept)
        if not self.replies:
            raise AssertionError(f"ScriptedModel has no reply left for request {len(self.requests)}")
        reply = self.replies.pop(0)
        if isinstance(reply, GladosError):
            raise reply
        parts = [reply] if isinstance(reply, str | ToolCallPart) else list(reply)
        for number, part in enumerate(parts):
            if isinstance(part, str):
                yield TextDelta(part)
            else:
                yield ToolCallDelta(
                    ToolCallPart(f"{part.id}_{len(self.requests)}_{number}", part.tool_id, part.arguments)
                )
        has_calls = any(isinstance(part, ToolCallPart) for part in parts)
        yield ModelDone("tool_calls" if has_calls else "end", Usage(1, 1), self.name)

    async def close(self) -> None:
        """Nothing is held."""


class AppFactory:
    """Opens apps for one test, on its own data directory and no environment, and stops them when it ends."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._stack = AsyncExitStack()

    async def __call__(
        self,
        *,
        plugins: Sequence[type[Plugin[Any]]] = (),
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        model: Model | Literal["configured"] | None = None,
        environ: Mapping[str, str] | None = None,
        **options: Any,
    ) -> App:
        """Open an app; a plugin that fails fails the test, unless the settings say `plugins.strict = False`.

        Without a model a call of one is an error; "configured" takes the one that settings and plugins give.
        """
        merged: dict[str, Mapping[str, Any]] = {**(settings or {})}
        own = {"data_dir": self._data_dir, "instructions": self._data_dir / "AGENTS.md"}
        merged["glados"] = {**own, **merged.get("glados", {})}
        merged["plugins"] = {"strict": True, **merged.get("plugins", {})}
        chosen = None if model == "configured" else model or ScriptedModel()
        opening = App.open(plugins=plugins, settings=merged, model=chosen, environ=environ or {}, **options)
        return await self._stack.enter_async_context(opening)

    async def close(self) -> None:
        """Stop every app that was opened."""
        await self._stack.aclose()
