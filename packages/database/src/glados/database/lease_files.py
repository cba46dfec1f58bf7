"""Leases beside a SQLite file: a locked file each, which the operating system unlocks however its process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path

from glados.database.errors import DatabaseUnavailable
from glados.database.urls import DatabaseUrl

LEASE_ID = re.compile("[0-9a-f]{32}")


class LeaseFiles:
    """The leases that one service holds as locked files, and a look at those of others."""

    # The operating system takes no lock from a process that lives.
    lost: frozenset[str] = frozenset()

    def __init__(self, url: DatabaseUrl) -> None:
        # Two names of one file must mean one folder.
        path = url.path.resolve()
        self._url = url
        self._folder = path.with_name(f"{path.name}.leases")
        self._held: dict[str, int] = {}

    def take(self, id: str) -> None:
        """Hold a lease under a new id; the files that dead processes left are removed on the way."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for path in self._folder.iterdir():
                if LEASE_ID.fullmatch(path.name) and path.name not in self._held:
                    self.alive(path.name)
            self._held[id] = self._locked(self._folder / id)
        except OSError as error:
            raise DatabaseUnavailable(
                f"The folder {str(self._folder)!r} cannot be used: {error.strerror}."
                " Give this user the right to write it.",
                url=self._url.shown,
            ) from error

    def give_back(self, id: str) -> None:
        """Hold it no longer."""
        descriptor = self._held.pop(id, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                (self._folder / id).unlink()
            os.close(descriptor)

    def alive(self, id: str) -> bool:
        """Whether somebody holds it; the file of a dead one is removed."""
        path = self._folder / id
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return False
        try:
            # Shared, so that two who look do not take each other for the holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def socket(self) -> int | None:
        """Nothing has to be watched."""
        return None

    def check(self) -> None:
        """Nothing can have been lost."""

    def forget(self) -> None:
        """Let go of the files in a child after a fork: they are the parent's, and must be free when it dies."""
        for descriptor in self._held.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._held.clear()

    def close(self) -> None:
        """Give back all."""
        for id in list(self._held):
            self.give_back(id)

    def _locked(self, path: Path) -> int:
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Somebody who tidied up may have removed it before it was locked.
                if os.fstat(descriptor).st_nlink:
                    return descriptor
            except BlockingIOError:
                pass
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
