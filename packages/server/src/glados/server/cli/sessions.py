"""`glados sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from glados.server.cli import session_changes, session_files, session_reading
from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glados.core import App, Session

SHORT = 8  # characters of an id that are shown at least


@click.group("sessions", invoke_without_command=True)
@json_option("Print a list of {id, title, updated_at, seq, tags, cost, …}.")
@shared_options
@click.pass_context
def command(ctx: click.Context) -> None:
    """List sessions, read, search, change, export and import them.

    Without a command it lists them. Wherever an ID is asked for, its beginning is enough if no other session begins
    like that.

    \b
    Examples:
      glados sessions
      glados sessions show 5f0c
      glados sessions export 5f0c -o talk.jsonl
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command)


@command.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@click.option("--after", metavar="ID", help="Go on behind this one.")
@click.option("--order", type=click.Choice(["updated", "created"]), default="updated", help="Which time counts.")
@click.option("--all", "everything", is_flag=True, help="With the sessions that agents started.")
@click.option("--tag", help="Only those with this tag.")
@click.option("--title", help="Only those with this in their title.")
@json_option("Print a list of {id, title, updated_at, seq, tags, cost, …}.")
@shared_options
def list_command(everything: bool = False, after: str | None = None, **chosen: Any) -> None:
    """List sessions, the one that was last worked in first.

    \b
    Examples:
      glados sessions list --tag work --limit 5
      glados sessions list --json | jq '.[].id'
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def listed(app: App) -> list[Session]:
        before = (await app.find_session(after)).id if after is not None else None
        return await app.sessions.list(before=before, roots=not everything, **chosen)

    sessions = Application(invocation()).run_on_sessions(listed)
    if invocation().json:
        out.json([session.to_dict() for session in sessions])
    elif sessions:
        out.table([_row(session, _short(session, sessions)) for session in sessions])
    else:
        out.line('There is no such session; `glados run "hello"` begins one.')


def _row(session: Session, id: str) -> tuple[str, ...]:
    tags = "".join(f"[{tag}] " for tag in session.tags)
    cost = f"${session.cost:.4f}" if session.cost is not None else "$?"
    when = session.updated_at[:16].replace("T", " ")
    return id, when, f"{session.seq} entries", cost, f"{tags}{' '.join((session.title or '-').split())}"


def _short(session: Session, among: Sequence[Session]) -> str:
    """The beginning of an id that no other one of the list has."""
    others = [other.id for other in among if other.id != session.id]
    lengths = range(SHORT, len(session.id))
    starts = (session.id[:length] for length in lengths)
    return next((start for start in starts if not any(other.startswith(start) for other in others)), session.id)


for module in (session_reading, session_changes, session_files):
    for found in module.COMMANDS:
        command.add_command(found)
