"""Plugins over HTTP."""

from __future__ import annotations

from typing import Any

from glados.server.wire import PluginReply


async def test_plugins_are_listed_with_their_state(daemon: Any) -> None:
    plugins = (await daemon.client.get("/api/plugins")).json()
    assert [(plugin["id"], plugin["state"], plugin["reason"]) for plugin in plugins] == [("demo", "enabled", None)]
    PluginReply.model_validate(plugins[0], extra="forbid")
