"""What a command prints: stdout belongs to it alone, and a terminal is never sent what could control it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import click


class Output:
    """The command's stdout; whatever else prints (a plugin, a library, a child process) goes to stderr from now on."""

    def __init__(self) -> None:
        self._stream = _take_stdout()
        self.is_terminal = self._stream.isatty()

    def write(self, text: str) -> None:
        """Print text as it comes, at once."""
        self._stream.write(printable(text) if self.is_terminal else _encodable(text, self._stream))
        self._stream.flush()

    def line(self, text: str = "") -> None:
        """Print one line."""
        self.write(f"{text}\n")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Print rows with aligned columns; the last one is as long as it is."""
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            self.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def json(self, value: Any) -> None:
        """Print a value as JSON, escaped where stdout could not carry it or a terminal would obey it."""
        text = as_json(value)
        if _encodable(text, self._stream) != text:
            text = as_json(value, ascii=True)
        self._write_json(f"{text}\n")

    def json_line(self, line: str) -> None:
        """Print a line that is JSON already, escaped where it has to be."""
        if _encodable(line, self._stream) != line:
            line = json.dumps(json.loads(line)) + "\n"
        self._write_json(line)

    def _write_json(self, text: str) -> None:
        self._stream.write(_inert(text) if self.is_terminal else text)
        self._stream.flush()


def as_json(value: Any, *, ascii: bool = False) -> str:
    """A value as JSON; numbers that JSON does not know become null."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=ascii, default=str, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        return json.dumps(finite, indent=2, ensure_ascii=ascii)


def note(text: str) -> None:
    """One dim line on stderr, for whoever watches."""
    line = " ".join(printable(text).split())
    terminal = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"\x1b[2m{line}\x1b[0m" if terminal else line, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """Text with every control and formatting character spelled out; a page must not write to the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def _inert(text: str) -> str:
    """JSON with every control and formatting character inside its strings escaped."""

    def escaped(character: str) -> str:
        units = character.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))

    return "".join(c if c.isprintable() or c == "\n" else escaped(c) for c in text)


def _encodable(text: str, stream: TextIO) -> str:
    """The text, with what the stream's encoding cannot carry spelled out."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _take_stdout() -> TextIO:
    stream: TextIO | None = sys.stdout
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - closed with `2>&-`
        sys.stderr = _nowhere()
    if stream is None:
        stream = _nowhere()
        click.get_current_context().call_on_close(stream.close)
        return stream
    stream.flush()
    sys.stdout = sys.stderr
    if not _is_the_process_s(stream):
        return stream
    # On the level of the descriptor too, so that libraries in C and child processes are turned away.
    kept = os.fdopen(os.dup(1), "w", encoding=stream.encoding)
    click.get_current_context().call_on_close(kept.close)
    os.dup2(sys.stderr.fileno(), 1)
    return kept


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _is_the_process_s(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except OSError:
        return False
