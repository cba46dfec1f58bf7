"""Queries on a plain connection that cannot write, each in one snapshot."""

from __future__ import annotations

import contextlib

from glados.database.drivers import Driver, open_driver
from glados.database.failures import meaning
from glados.database.jobs import Job
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl


class Reader:
    """Reads in one thread, on a connection that is opened when it is needed and again when it was lost."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._url = url
        self._settings = settings
        self._connection: Driver | None = None

    def do(self, jobs: list[Job]) -> None:
        """Run the reads one after the other."""
        for job in jobs:
            job.error = self._read(job)

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    def _read(self, job: Job) -> BaseException | None:
        known = self._connection is not None
        try:
            if self._connection is None or self._connection.lost:
                self.close()
                self._connection = open_driver(self._url, self._settings, write=False)
            connection = self._connection
            connection.begin()
            job.result = job.work(connection)
            connection.rollback()
        except BaseException as error:
            return self._failure(job, error, known=known)
        return None

    def _failure(self, job: Job, error: BaseException, *, known: bool) -> BaseException | None:
        failure = meaning(self._url, error, write=False)
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.rollback()
        gone = self._connection is None or self._connection.lost or self._connection.in_transaction
        if gone or failure is not None:
            self.close()
        if gone and known:
            # It was lost since it was last used: a server that was restarted must not fail the next query.
            return self._read(job)
        if failure is not None:
            failure.__cause__ = error
        return failure or error
