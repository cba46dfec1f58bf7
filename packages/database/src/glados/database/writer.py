"""Group commits: the changes of many callers in one transaction on one plain connection, in a thread of its own."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterable

from glados.database.drivers import Driver, open_driver
from glados.database.errors import Conflict, DatabaseBusy, DatabaseUnavailable
from glados.database.failures import lost_transaction, meaning
from glados.database.jobs import Job
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl

LONGEST_PAUSE = 0.05


class Writer:
    """Commits jobs together; a job that raises is taken out, and those around it are run again without it."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._url = url
        self._settings = settings
        self._connection: Driver | None = None
        # Whether the connection has committed: one that never did and is lost was no accident.
        self._proven = False
        self._racing_since: float | None = None

    def do(self, jobs: list[Job]) -> None:
        """Commit every job, or leave in it why it could not be."""
        groups = [jobs]
        while groups:
            group = groups.pop()
            try:
                left = self._together(group)
            except _Trouble as trouble:
                self._give_up([group, *groups], trouble)
                return
            groups += reversed([part for part in left if part])

    def close(self) -> None:
        """End the connection; what is not committed is taken back."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None
        self._proven = False

    def _together(self, group: list[Job]) -> list[list[Job]]:
        """Run a group in one transaction; gives the groups in which it is to be run again, in the order of the line."""
        done = -1
        try:
            connection = self._begin()
            done = 0
            for job in group:
                job.result = job.work(connection)
                if not connection.in_transaction:
                    raise lost_transaction()
                done += 1
        except BaseException as error:
            return self._taken_back(group, done, error)
        try:
            connection.commit()
        except Exception as error:
            return self._not_committed(group, connection, error)
        self._proven, self._racing_since = True, None
        return []

    def _begin(self) -> Driver:
        if self._connection is not None and self._connection.lost:
            self.close()
        if self._connection is None:
            self._connection = open_driver(self._url, self._settings, write=True)
        self._connection.begin()
        return self._connection

    def _taken_back(self, group: list[Job], index: int, error: BaseException) -> list[list[Job]]:
        """What is left to run after the job at `index`, or the beginning of the transaction, has raised."""
        proven, lost = self._proven, not self._rolled_back()
        failure = meaning(self._url, error, write=True)
        if lost and proven:
            # It was lost since the last commit, and nothing of this one was stored: a new connection runs it again.
            return [group]
        if isinstance(failure, DatabaseUnavailable) or lost or index < 0:
            self.close()
            raise _Trouble(error) from error
        if isinstance(failure, DatabaseBusy):
            # It has waited as long as one may, and would wait as long again.
            group[index].error = _caused(failure, error)
            return [group[:index], group[index + 1 :]]
        if len(group) > 1:
            return [group[:index], group[index : index + 1], group[index + 1 :]]
        if isinstance(failure, Conflict) and self._may_race():
            return [group]
        self._racing_since = None
        group[0].error = error if failure is None else _caused(failure, error)
        return []

    def _not_committed(self, group: list[Job], connection: Driver, error: Exception) -> list[list[Job]]:
        """What is left to run after a COMMIT has failed; one whose outcome nobody knows is not run again."""
        lost = connection.lost
        if meaning(self._url, error, write=True) is not None or lost or not self._rolled_back():
            self.close()
            raise _Trouble(error, committing=lost) from error
        if len(group) > 1:
            # A constraint that is checked at the end does not say whose rows broke it.
            return [[job] for job in group]
        group[0].error = error
        return []

    def _rolled_back(self) -> bool:
        """Take the transaction back; False if the connection did not survive it."""
        connection = self._connection
        if connection is None:
            return False
        with contextlib.suppress(Exception):
            connection.rollback()
        if connection.lost or connection.in_transaction:
            self.close()
            return False
        return True

    def _may_race(self) -> bool:
        """Whether a change that lost a race has time to try again; pauses, so that the others get through."""
        now = time.monotonic()
        self._racing_since = self._racing_since or now
        if now - self._racing_since >= self._settings.write_timeout:
            return False
        time.sleep(random.uniform(0, LONGEST_PAUSE))
        return True

    def _give_up(self, groups: Iterable[list[Job]], trouble: _Trouble) -> None:
        for group in groups:
            for job in group:
                job.error = self._told(trouble)

    def _told(self, trouble: _Trouble) -> BaseException:
        failure = meaning(self._url, trouble.error, write=True)
        if trouble.committing:
            failure = DatabaseUnavailable(
                f"The connection to the database {self._url.shown} was lost during a commit, and whether it was stored"
                " is not known: look before you try again.",
                url=self._url.shown,
            )
        return trouble.error if failure is None else _caused(failure, trouble.error)


class _Trouble(Exception):
    """The database cannot be written now, by nobody; `committing` says that the last commit may have been stored."""

    def __init__(self, error: BaseException, *, committing: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.committing = committing


def _caused(failure: BaseException, error: BaseException) -> BaseException:
    failure.__cause__ = error
    return failure
