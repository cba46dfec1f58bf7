"""A run as a person watches it: the answer on stdout, what happens meanwhile on stderr."""

from __future__ import annotations

import sys
from typing import Any

from glados.core import (
    Compacted,
    Event,
    GladosError,
    ModelChanged,
    ModelRetried,
    PermissionDenied,
    RunFinished,
    StreamChunk,
    ToolCallEnded,
    ToolCallStarted,
    ToolProgress,
)
from glados.server.cli.output import Output, note
from glados.server.cli.questions import described


class Printer:
    """Shows one run as it goes."""

    def __init__(self, out: Output, *, as_json: bool, asks: bool) -> None:
        self._out = out
        self._as_json = as_json
        self._asks = asks
        self._watched = sys.stderr.isatty()
        self._open_line = False
        self._printed = False
        self._result: dict[str, Any] = {}
        self._error: GladosError | None = None

    def show(self, event: Event) -> None:
        """Show one event of the run."""
        match event:
            case StreamChunk(text=text, thinking=False) if text and not self._as_json:
                self._out.write(text)
                self._open_line, self._printed = not text.endswith("\n"), True
            case ToolCallStarted():
                self._note(f"→ {described(event.tool_id, event.input)}")
            case ToolProgress():
                self._note(f"  {event.message}")
            case ToolCallEnded(code=PermissionDenied.code) if not self._asks:
                # The model is told; whoever started this must know too, watching or not.
                self._close_line()
                note(event.text)
            case ToolCallEnded():
                self._note(f"✓ {event.tool_id}" if event.code is None else f"✗ {event.tool_id}: {event.code}")
            case ModelRetried():
                self._close_line()
                note(f"The model failed and is asked again, the answer begins anew: {event.error.message}")
            case ModelChanged():
                self._close_line()
                note(f"{event.change['to']} goes on, the answer begins anew: {event.change['why']}")
            case Compacted():
                self._note("  older turns were summarised")
            case RunFinished():
                self._result, self._error = event.result, event.error
            case _:
                pass

    def finish(self) -> bool:
        """Print what is left to print, or raise the error that ended the run; says whether the answer is whole."""
        if self._error is not None:
            self._close_line()
            raise self._error
        if self._as_json:
            self._out.json(self._result)
        elif not self._printed:
            self._out.line(str(self._result.get("response", "")))
        self._close_line()
        if not self._as_json:
            self._note(f"session {self._result.get('session_id')}")
        stop = self._result.get("stop")
        if stop != "end":
            note(f"glados: the answer is not whole: the run was stopped by {stop!r}.")
        return stop == "end"

    def _note(self, text: str) -> None:
        if self._watched:
            self._close_line()
            note(text)

    def _close_line(self) -> None:
        """End the line that the answer left open, so that what comes next stands on one of its own."""
        if self._open_line:
            self._out.write("\n")
            self._open_line = False
