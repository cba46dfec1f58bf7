"""One migrator at a time, by locks that the operating system or the server frees when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from glados.database.errors import MigrationError

POLL_SECONDS = 0.05
# The key of the advisory lock, which is counted per database: "glados" as a number.
LOCK_KEY = int.from_bytes(b"glados", "big")


@contextmanager
def file_lock(database: Path, timeout: float, stop: Event) -> Generator[None]:
    """Hold the lock of a SQLite file; the lock's own file stays, since removing it would let two in."""
    # Two names of one file must mean one lock.
    path = database.resolve()
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def attempt() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        _wait(attempt, timeout, stop)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def server_lock(connection: Any, timeout: float, stop: Event) -> Generator[None]:
    """Hold the lock of a PostgreSQL database in the session that migrates, so that both end together."""
    _wait(lambda: bool(connection.execute(f"SELECT pg_try_advisory_lock({LOCK_KEY})").fetchone()[0]), timeout, stop)
    try:
        yield
    finally:
        # A connection that was lost has given its lock back already.
        if not connection.closed:
            connection.execute(f"SELECT pg_advisory_unlock({LOCK_KEY})")


def _wait(attempt: Callable[[], bool], timeout: float, stop: Event) -> None:
    deadline = time.monotonic() + timeout
    while not attempt():
        if time.monotonic() >= deadline:
            raise MigrationError(
                f"Another process has been migrating the database for {timeout:g} s: start again when it has ended."
            )
        if stop.wait(POLL_SECONDS):
            raise MigrationError("The migration was stopped while it waited for another process.")
