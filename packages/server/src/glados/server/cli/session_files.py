"""`glados sessions export` and `import`: sessions in files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from typing import BinaryIO, TextIO

    from glados.core import App, Session
    from glados.server.cli.output import Output


@click.command("export")
@click.argument("id")
@click.option(
    "--format",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="JSON lines can be imported again, Markdown is to be read.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Where to; stdout by default.")
@shared_options
def export(id: str, format: Any, output: str | None) -> None:
    """Write a session and the sessions below it to stdout or to a file.

    \b
    Examples:
      glados sessions export 5f0c -o talk.jsonl
      glados sessions export 5f0c --format markdown | less
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def exported(app: App) -> None:
        pieces = await app.export_session((await app.find_session(id)).id, format)
        if output is None or output == "-":
            await _print(pieces, out, as_json=format == "jsonl")
            return
        with _replaced(output) as file:
            async for piece in pieces:
                file.write(piece)

    Application(invocation()).run_on_sessions(exported)


@click.command("import")
@click.argument("file", type=click.File("rb"))
@json_option("Print the list of the sessions.")
@shared_options
def import_(file: BinaryIO) -> None:
    """Bring sessions back that were exported as JSON lines; '-' reads them from stdin.

    They keep their ids where those are free. What they hold came from outside, so that they ask before they change
    anything.

    \b
    Examples:
      glados sessions import talk.jsonl
      ssh there glados sessions export 5f0c | glados sessions import -
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def imported(app: App) -> list[Session]:
        return await app.import_sessions(_lines(file))

    sessions = Application(invocation()).run_on_sessions(imported)
    if invocation().json:
        out.json([session.to_dict() for session in sessions])
    else:
        out.table([(s.id, f"{s.seq} entries", " ".join((s.title or "-").split())) for s in sessions])


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none longer than what shows that it is too long."""
    from glados.core.imports import MAX_LINE_BYTES

    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line


async def _print(pieces: AsyncIterator[str], out: Output, *, as_json: bool) -> None:
    async for piece in pieces:
        if as_json:
            out.json_line(piece)
        else:
            out.write(piece)


@contextmanager
def _replaced(path: str) -> Generator[TextIO]:
    """A file that is written whole or not at all, for its owner alone: what was said is nobody else's."""
    import os
    import secrets
    from pathlib import Path

    draft = Path(f"{path}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink()
        raise


COMMANDS = (export, import_)
