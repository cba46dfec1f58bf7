"""`glados tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from glados.core import App, Tool


@click.command("tools")
@json_option("Print a list of {id, description, input_schema, output_schema, flags}.")
@shared_options
def command() -> None:
    """List the tools of the enabled plugins.

    \b
    Examples:
      glados tools
      glados tools --json | jq '.[].id'
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def listed(app: App) -> list[Tool]:
        return await app.tools()

    tools = Application(invocation()).run(listed)
    if invocation().json:
        out.json([tool.to_dict() for tool in tools])
    elif tools:
        out.table([(tool.id, _kind(tool), tool.description.partition("\n")[0]) for tool in tools])
    else:
        out.line("No enabled plugin has a tool; `glados plugins` says which plugins there are.")


def _kind(tool: Tool) -> str:
    """What a call may do, in the words of the permission modes."""
    flags = tool.flags()
    return "read-only" if flags.read_only else "destructive" if flags.destructive else "changes"
