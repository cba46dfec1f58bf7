"""`glados run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from glados.core import App


@click.command("run")
@click.argument("prompt")
@click.option("--session", metavar="ID", help="Go on with this session; the beginning of its id is enough.")
@click.option("--continue", "go_on", is_flag=True, help="Go on with the session that was last worked in.")
@click.option(
    "--on-question",
    type=click.Choice(["ask", "deny"]),
    help="What to do with a permission question; by default it is asked on a terminal and denied without one.",
)
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False),
    help="The folder that it is about; its AGENTS.md counts if you trust it (GLADOS_TRUSTED_WORKSPACES).",
)
@json_option("Print one object {session_id, response, steps, usage, …}.")
@shared_options
@click.pass_context
def command(
    ctx: click.Context,
    prompt: str,
    session: str | None,
    go_on: bool,
    on_question: str | None,
    workspace: str | None,
) -> None:
    """Give the agent a prompt and print its answer as it comes; '-' reads the prompt from stdin.

    \b
    Examples:
      glados run "fetch https://example.com as markdown"
      glados run "And its links?" --continue
      glados run "And its links?" --session 5f0c
      git diff | glados run - --json
    """
    from pathlib import Path

    from glados.server.cli import given
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output
    from glados.server.cli.printer import Printer
    from glados.server.cli.questions import Terminal, can_ask

    _refuse_what_cannot_be(session, go_on, asks=on_question == "ask")
    text = given.text(prompt, "prompt")
    asks = can_ask() and on_question != "deny"
    printer = Printer(Output(), as_json=invocation().json, asks=asks)

    async def ran(app: App) -> None:
        _note_failures(app)
        answers = Terminal() if asks else "deny"
        folder = app.workspace(Path(workspace)) if workspace is not None else None
        chosen = await _chosen(app, session, go_on)
        async for event in app.stream(text, session=chosen, workspace=folder, on_question=answers):
            printer.show(event)

    Application(invocation()).run(ran)
    ctx.exit(0 if printer.finish() else 1)


def _refuse_what_cannot_be(session: str | None, go_on: bool, *, asks: bool) -> None:
    from glados.server.cli.questions import can_ask

    if asks and not can_ask():
        raise click.UsageError("--on-question ask needs a terminal on stdin and stderr.")
    if session is not None and go_on:
        raise click.UsageError("--session and --continue name two sessions: give one of them.")


def _note_failures(app: App) -> None:
    """Say which plugins the agent has to do without."""
    from glados.server.cli.output import note

    for record in app.plugins:
        if record.state == "failed":
            note(f"The plugin {record.id!r} failed: {record.reason}")


async def _chosen(app: App, session: str | None, go_on: bool) -> str | None:
    """The id of the session to go on with, if there is to be one."""
    if session is not None:
        return (await app.find_session(session)).id
    return (await app.latest_session()).id if go_on else None
