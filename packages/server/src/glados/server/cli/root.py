"""The `glados` command: a table of commands whose modules are imported when they are called."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from glados.server.cli.invocation import Invocation, shared_options
from glados.server.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

INTERRUPTED = 130
FEATURES = "glados.commands"

# The help stands here as text: taking it from the commands would import all that they import.
COMMANDS = {
    "serve": "Start the daemon: HTTP on 127.0.0.1:8420.",
    "run": "Give the agent a prompt and print its answer.",
    "sessions": "List sessions, read, search, change, export and import them.",
    "call": "Call one tool with JSON and print its output.",
    "tools": "List the tools of the enabled plugins.",
    "plugins": "List the installed plugins and how they are.",
    "config": "Show every setting and where its value came from.",
    "new-plugin": "Make the package of a new plugin.",
}


class LazyGroup(click.Group):
    """Finds built-in commands by module name and those of features by entry point, each when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Built-in commands as a newcomer needs them, then those of features."""
        return [*COMMANDS, *sorted(_features())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name in COMMANDS:
            module = importlib.import_module(f"glados.server.cli.{cmd_name.replace('-', '_')}")
            return module.command
        feature = _features().get(cmd_name)
        return _load(feature) if feature is not None else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; one of a feature gets the settings and the plugins as its context object."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message}{self._nearest(ctx, args[0])}", ctx) from error
        asks_for_help = bool(set(rest) & set(ctx.help_option_names))
        if name is not None and name not in COMMANDS and not asks_for_help:
            invocation = ctx.ensure_object(Invocation)
            invocation.json = "--json" in rest
            application = importlib.import_module("glados.server.cli.application")
            ctx.obj = application.command_context(invocation)
        return name, command, rest

    def _nearest(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, self.list_commands(ctx), 1)
        return f" Did you mean {near[0]!r}?" if near else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, none of them imported."""
        rows = list(COMMANDS.items())
        rows += [(name, f"Comes with {_distribution(entry)}.") for name, entry in sorted(_features().items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Every command has --help with examples; it works with or without a running daemon.",
)
@click.version_option(__version__, prog_name="glados", message="%(prog)s %(version)s")
@shared_options
def root() -> None:
    """An agent with plugins, and a daemon that serves it."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line; every failure becomes one sentence and an exit code."""
    invocation = Invocation()
    try:
        result = root.main(args, prog_name="glados", obj=invocation, standalone_mode=False)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - `>&-` closes it
            sys.stdout.flush()
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"glados: {error.format_message()}", err=True)
        return error.exit_code
    except BrokenPipeError:
        drop_stdout()
        return 1
    except Exception as error:
        return _report(error, invocation)
    return result if isinstance(result, int) else 0


def _report(error: Exception, invocation: Invocation) -> int:
    """Tell a failure; the module is imported only now, because no help text and no usage error needs the core."""
    try:
        failures = importlib.import_module("glados.server.cli.failures")
    except Exception as broken:
        if invocation.debug:
            raise
        why = f"{type(broken).__name__}: {broken}"
        click.echo(f"glados: the installation is broken ({why}): install it anew.", err=True)
        return 1
    return failures.report(error, invocation)


def drop_stdout() -> None:
    """Let the rest of stdout go nowhere, at the interpreter's exit too: whoever read it went away."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _features() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=FEATURES) if entry.name not in COMMANDS}


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module


def _load(entry: EntryPoint) -> click.Command:
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout belongs to the command
            command = entry.load()
    except (Exception, SystemExit) as error:
        raise click.ClickException(
            f"The command {entry.name!r} of {_distribution(entry)} cannot be loaded:"
            f" {type(error).__name__}: {error}. Update or remove that package."
        ) from error
    if not isinstance(command, click.Command):
        raise click.ClickException(
            f"The entry point {entry.name!r} of {_distribution(entry)} is not a click command, but {command!r}."
        )
    return command
