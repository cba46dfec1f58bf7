"""Text and JSON that the caller gives, as an argument or on stdin."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

from glados.core import InvalidInput


def text(argument: str, what: str) -> str:
    """The argument itself, or what stdin holds if it is `-`; always text that can be sent on as UTF-8."""
    value = _stdin(what) if argument == "-" else argument
    if not value.strip():
        raise InvalidInput(f"The {what} is empty: give some text, or '-' to read it from stdin.")
    _refuse_surrogates(value, what)
    return value


def json_object(argument: str, what: str) -> dict[str, Any]:
    """A JSON object from the argument, or from stdin if it is `-`."""
    written = text(argument, what)
    try:
        value = json.loads(written, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The {what} {_shortened(written)!r} is no JSON: {error.msg} (line {error.lineno}, column {error.colno})."
            """ Write an object such as '{"url": "https://example.com"}'."""
        ) from None
    except RecursionError:
        raise InvalidInput(f"The {what} {_shortened(written)!r} is nested too deeply: make it flatter.") from None
    except ValueError as error:
        raise InvalidInput(f"The {what} {_shortened(written)!r} cannot be read as JSON: {error}.") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"The {what} {_shortened(written)!r} is JSON, but no object: write it as '{{…}}'.")
    _refuse_surrogates(json.dumps(value, ensure_ascii=False), what)
    return cast("dict[str, Any]", value)


def _stdin(what: str) -> str:
    if sys.stdin is None:
        raise InvalidInput(f"The {what} is '-', but stdin is closed: pipe it in, or write it as an argument.")
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The {what} on stdin is not UTF-8 (byte {data[error.start]:#04x} at {error.start}): convert it first."
        ) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that JSON knows")


def _refuse_surrogates(value: str, what: str) -> None:
    """Arguments that are not UTF-8, and escapes such as \\ud800, become characters that nobody can send on."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The {what} holds {value[error.start]!r} at position {error.start}, which is no character: use UTF-8."
        ) from None


def _shortened(value: str, limit: int = 80) -> str:
    return value if len(value) <= limit else f"{value[:limit]}…"
