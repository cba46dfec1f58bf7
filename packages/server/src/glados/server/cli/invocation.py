"""What one call of `glados` was asked for besides the command itself, and the options that say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(slots=True)
class Invocation:
    """The options that every command has; `json` also decides how an error is told."""

    config: Path | None = None
    debug: bool = False
    log_level: str | None = None
    json: bool = False


def invocation() -> Invocation:
    """The options of the command that is running."""
    found = click.get_current_context().find_object(Invocation)
    return found if found is not None else Invocation()


def shared_options(command: F) -> F:
    """`--config`, `--log-level` and `--debug`: they can stand before the command's name or after it."""
    for option in (
        click.option("--debug", is_flag=True, expose_value=False, callback=_remember, help="Show tracebacks."),
        click.option(
            "--log-level",
            type=click.Choice(LOG_LEVELS, case_sensitive=False),
            expose_value=False,
            callback=_remember,
            help="How much the log on stderr says (GLADOS_LOG_LEVEL).",
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="A settings file to read after your own (GLADOS_CONFIG).",
        ),
    ):
        command = option(command)
    return command


def json_option(help: str) -> Callable[[F], F]:
    """`--json`: a listing for programs, and errors as JSON too."""
    return click.option("--json", "json", is_flag=True, expose_value=False, callback=_remember, help=help)


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Keep a value that was given; the same option may have been given before the command's name."""
    kept = ctx.find_object(Invocation)
    if kept is not None and param.name and value not in (None, False):
        setattr(kept, param.name, value)
