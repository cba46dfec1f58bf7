"""`glados plugins`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from glados.core import App, PluginRecord


@click.command("plugins")
@json_option("Print a list of {id, version, state, reason, …}.")
@shared_options
def command() -> None:
    """List the installed plugins: enabled, disabled, or failed and why.

    \b
    Examples:
      glados plugins
      PLUGINS_LOAD=database,web-fetch glados plugins --json
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def listed(app: App) -> list[PluginRecord]:
        return list(app.plugins)

    records = Application(invocation()).run(listed)
    if invocation().json:
        out.json([record.to_dict() for record in records])
    elif records:
        out.table([(record.id, record.version or "-", _state(record)) for record in records])
    else:
        out.line("No plugin is installed.")


def _state(record: PluginRecord) -> str:
    return f"{record.state}: {' '.join(record.reason.split())}" if record.reason else record.state
