"""The command line, `glados`: one file a command, loaded when it is called."""

from __future__ import annotations

from glados.server.cli.root import main

__all__ = ["main"]
