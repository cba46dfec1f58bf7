"""How a failure is told: one sentence on stderr, or a JSON object; a traceback only with --debug."""

from __future__ import annotations

import json
import traceback
from typing import Any, cast

import click

from glados.core import GladosError
from glados.server.cli.invocation import Invocation
from glados.server.cli.output import printable


def report(error: BaseException, invocation: Invocation) -> int:
    """Tell the error and give the exit code."""
    error = _single(error)
    if invocation.debug:
        traceback.print_exception(error)
    facts = describe(error)
    if invocation.json:
        click.echo(json.dumps({"error": facts}, default=str), err=True)
    else:
        click.echo(f"glados: {sentence(facts['message'])}", err=True)
    return 1


def _single(error: BaseException) -> BaseException:
    """The one exception inside a group of one: what task groups make of any failure."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(inner) != 1:
            break
        error = inner[0]
    return cast("BaseException", error)


def sentence(text: str) -> str:
    """A message as one line that a terminal can show."""
    return printable(" ".join(text.split()))


def describe(error: BaseException) -> dict[str, Any]:
    """Any exception as code, message and data."""
    if isinstance(error, GladosError):
        return error.to_dict()
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return {"code": "system_error", "message": f"{error.strerror}{where}.", "data": {"errno": error.errno}}
    message = f"internal error: {text.rstrip('.')}. Run it again with --debug to see where it comes from."
    return {"code": "internal_error", "message": message, "data": {}}
