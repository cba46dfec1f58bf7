"""`glados sessions rename`, `tag`, `fork`, `switch` and `delete`: what changes sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from glados.core import App, Session

START = "0"  # the entry before the first one


@click.command("rename")
@click.argument("id")
@click.argument("title")
@json_option("Print the session.")
@shared_options
def rename(id: str, title: str) -> None:
    """Give a session another title.

    \b
    Examples:
      glados sessions rename 5f0c "Cake recipes"
    """
    from glados.server.cli import given

    text = given.text(title, "title")
    _change(id, lambda app, session: app.rename_session(session.id, text), "is called {title!r} now")


@click.command("tag")
@click.argument("id")
@click.argument("tags", nargs=-1)
@json_option("Print the session.")
@shared_options
def tag(id: str, tags: tuple[str, ...]) -> None:
    """Give a session these tags instead of those that it has; none takes them away.

    \b
    Examples:
      glados sessions tag 5f0c work cake
      glados sessions tag 5f0c
    """
    _change(id, lambda app, session: app.tag_session(session.id, tags), "has the tags: {tags}")


@click.command("fork")
@click.argument("id")
@click.option("--at", metavar="ENTRY", help="The last entry that is copied, by its number or id; all by default.")
@click.option("--title", help="What the new session is called; like the old one by default.")
@json_option("Print the new session.")
@shared_options
def fork(id: str, at: str | None, title: str | None) -> None:
    """Begin a new session with a copy of another one.

    \b
    Examples:
      glados sessions fork 5f0c --title "Without eggs"
      glados sessions fork 5f0c --at 4
    """

    async def forked(app: App, session: Session) -> Session:
        entry = await _entry(app, session, at) if at is not None else None
        return await app.fork_session(session.id, at=entry, title=title)

    _change(id, forked, "is the fork, with {seq} entries")


@click.command("switch")
@click.argument("id")
@click.argument("entry")
@json_option("Print the session.")
@shared_options
def switch(id: str, entry: str) -> None:
    """Let the next prompt follow another entry, by its number or id; 0 begins anew. Nothing is deleted.

    \b
    Examples:
      glados sessions show 5f0c --json | jq -c '.[] | [.seq, .kind]'
      glados sessions switch 5f0c 4
    """

    async def switched(app: App, session: Session) -> Session:
        return await app.switch_branch(session.id, await _entry(app, session, entry) if entry != START else None)

    _change(id, switched, "goes on behind {head}")


@click.command("delete")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@json_option("Print the session that was deleted.")
@shared_options
def delete(id: str, yes: bool) -> None:
    """Delete a session and the sessions of the agents that it started.

    \b
    Examples:
      glados sessions delete 5f0c
      glados sessions delete 5f0c --yes
    """
    from glados.core import PermissionDenied
    from glados.server.cli.questions import can_ask, confirmed

    if not yes and not can_ask():
        raise click.UsageError("Nobody can be asked here: say --yes to delete it.")

    async def deleted(app: App, session: Session) -> Session:
        named = f"Delete session {session.id} {session.title or ''!r} with {session.seq} entries?"
        if not yes and not await confirmed(named):
            raise PermissionDenied(f"Session {session.id} was not deleted: the answer was no.")
        await app.delete_session(session.id)
        return session

    _change(id, deleted, "is deleted")


def _change(id: str, change: Callable[[App, Session], Awaitable[Session]], told: str) -> None:
    """Change the session that an id names, and say what it is now."""
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def changed(app: App) -> Session:
        return await change(app, await app.find_session(id))

    session = Application(invocation()).run_on_sessions(changed)
    if invocation().json:
        out.json(session.to_dict())
    else:
        facts = {**session.to_dict(), "tags": ", ".join(session.tags) or "none", "head": session.head or "nothing"}
        out.line(f"Session {session.id} {told.format(**facts)}.")


async def _entry(app: App, session: Session, named: str) -> str:
    """The id of an entry that is named by its number, its id, or the beginning of that."""
    from glados.core import RequestError
    from glados.core.sessions import entry_not_found

    if named.isascii() and named.isdigit() and 0 < int(named) <= session.seq:
        [entry] = await app.sessions.entries(session.id, after=int(named) - 1, limit=1)
        return entry.id
    ids = [entry.id for entry in await app.sessions.entries(session.id) if entry.id.startswith(named)]
    if len(ids) > 1 and named not in ids:
        raise RequestError(f"More than one entry begins with {named!r}: give more of its id, or its number.")
    if not ids:
        raise entry_not_found(session.id, named)
    return named if named in ids else ids[0]


COMMANDS = (rename, tag, fork, switch, delete)
