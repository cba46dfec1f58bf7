"""`glados call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from glados.core import App


@click.command("call")
@click.argument("tool")
@click.argument("input", metavar="JSON", default="{}")
@click.option("--yes", is_flag=True, help="Answer a permission question with yes, once; a rule that denies still does.")
@json_option("Print an error as JSON too; the output always is.")
@shared_options
def command(tool: str, input: str, yes: bool) -> None:
    """Call one tool and print its output as JSON; '-' reads the input from stdin.

    \b
    Examples:
      glados call web-fetch.fetch '{"url": "https://example.com"}'
      glados call web-fetch.add-domain '{"domain": "example.com"}' --yes
      echo '{"url": "https://example.com"}' | glados call web-fetch.fetch -
    """
    from glados.core import ToolNotFound
    from glados.server.cli import given
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output
    from glados.server.cli.questions import Terminal, can_ask

    out = Output()
    values = given.json_object(input, "input")

    async def called(app: App) -> dict[str, Any]:
        try:
            return await app.call(tool, values, on_question=Terminal() if can_ask() else "deny", approve=yes)
        except ToolNotFound as error:
            if (why := _missing_plugin(app, tool)) is None:
                raise
            raise ToolNotFound(f"There is no tool {tool!r}, because {why}", **error.data) from error

    out.json(Application(invocation()).run(called))


def _missing_plugin(app: App, tool: str) -> str | None:
    """A tool is missing because its plugin is disabled or failed."""
    record = next((record for record in app.plugins if record.id == tool.partition(".")[0]), None)
    if record is None or record.state == "enabled":
        return None
    state = f"{record.state}: {record.reason}" if record.reason else record.state
    return f"the plugin {record.id!r} is {state.rstrip('.')}."
