"""What `glados serve` says when it is ready."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from glados.core import App, GladosSettings, MemorySessionStore, PluginRecord
from glados.server.auth import TOKEN_FILE
from glados.server.settings import ServerSettings

WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - named here, not bound
FORGETFUL = "[glados] sessions are kept in memory and end with this process: the plugin conversations would store them"
TRY = "fetch https://example.com as markdown"


def announce(app: App, address: str, settings: ServerSettings) -> None:
    """Print the plugins, the address, where the data is, which model answers, and a line to try it with."""
    data_dir = app.services.get(GladosSettings).data_dir
    everywhere = " and on every other address of this machine" if settings.host in WILDCARDS else ""
    for line in (
        *map(plugin_line, app.plugins),
        f"[glados] listening on {address}{everywhere}",
        f"[glados] data in {data_dir}",
        *([FORGETFUL] if isinstance(app.sessions, MemorySessionStore) else []),
        f"[glados] model: {app.model_name}",
        "[glados] try it from another terminal:",
        curl_line(address, data_dir, own_token=settings.token is not None),
    ):
        click.echo(line)


def plugin_line(record: PluginRecord) -> str:
    """The state of one plugin, and the reason if it failed."""
    reason = f": {' '.join(record.reason.split())}" if record.state == "failed" and record.reason else ""
    return f"[glados]   {record.id}: {record.state}{reason}"


def curl_line(address: str, data_dir: Path, *, own_token: bool) -> str:
    """A request that can be pasted into a shell; the token itself is not printed."""
    token = "$SERVER_TOKEN" if own_token else f"$(cat {shlex.quote(str(data_dir / TOKEN_FILE))})"
    return (
        f'curl -s {address}/api/chat -H "Authorization: Bearer {token}"'
        f" -H 'Content-Type: application/json' -d '{{\"prompt\": \"{TRY}\"}}'"
    )
