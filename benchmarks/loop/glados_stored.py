"""glados as the daemon has it: every entry of the session is on disk before it is told."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from benchmarks.loop import task
from benchmarks.loop.glados_run import opened
from glados.conversations.plugin import ConversationsPlugin
from glados.database import DatabasePlugin


def open(url: str) -> AbstractAsyncContextManager[task.Run]:
    """With sessions on SQLite."""
    return opened(url, DatabasePlugin, ConversationsPlugin)
