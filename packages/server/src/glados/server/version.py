"""The version, as text of its own: asking the installed metadata costs more than the rest of `glados --version`."""

from __future__ import annotations

__version__ = "0.1.0"
