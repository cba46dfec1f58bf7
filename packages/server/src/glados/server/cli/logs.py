"""The log of a command, on stderr."""

from __future__ import annotations

import logging
import sys
import threading


class _Formatter(logging.Formatter):
    """One line a record; the traceback of an exception only with --debug."""

    def __init__(self, *, debug: bool) -> None:
        super().__init__("[glados] %(levelname)s %(name)s: %(message)s")
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        if self._debug or not record.exc_info:
            return super().format(record)
        error = record.exc_info[1]
        record = logging.makeLogRecord(record.__dict__ | {"exc_info": None, "exc_text": None, "stack_info": None})
        return f"{super().format(record)} ({type(error).__name__}: {error})"


def configure(level: str, *, debug: bool) -> None:
    """Send the log to stderr; what dies in a thread or a destructor becomes a line of it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(debug=debug))
    log = logging.getLogger("glados")
    log.setLevel(level.upper())
    # Libraries tell what they do at the level "info"; it is wanted only where everything is.
    others = "DEBUG" if level == "debug" else max(log.level, logging.WARNING)
    logging.basicConfig(level=others, handlers=[handler], force=True)
    if debug:
        return
    threading.excepthook = lambda args: log.error(
        "thread %s died: %s: %s", args.thread.name if args.thread else "?", args.exc_type.__name__, args.exc_value
    )
    sys.unraisablehook = lambda args: log.debug("ignored: %s: %s", args.exc_type.__name__, args.exc_value)
