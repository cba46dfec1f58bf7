"""Plugins' migrations: what is pending, applied one by one, each with its mark in one transaction.

Everything here blocks and runs in a thread or in a command; `migrator.py` is the way in from the event loop.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from glados.core import Plugin
from glados.database.connections import check_file, connect
from glados.database.errors import MigrationError, NoRollback, PendingMigrations, UnknownMigrations
from glados.database.folders import MigrationFile, read_folder
from glados.database.ledger import Ledger, owned, read_ledger
from glados.database.locks import file_lock, server_lock
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl

logger = logging.getLogger("glados.database")


@dataclass(frozen=True, slots=True)
class PluginStatus:
    """The migrations of one plugin: applied and pending by its folder, unknown to it but in the database."""

    id: str
    section: str
    applied: tuple[str, ...]
    pending: tuple[str, ...]
    unknown: tuple[str, ...]


class Migrations:
    """The migrations of all plugins in one database."""

    def __init__(self, url: DatabaseUrl, settings: DatabaseSettings) -> None:
        self._url = url
        self._settings = settings

    def ledger(self) -> Ledger:
        """What is applied; a SQLite file that is not there is not created."""
        if self._url.kind == "sqlite" and not self._url.path.exists():
            return Ledger()
        with connect(self._url, self._settings) as connection:
            return read_ledger(connection, self._url)

    def status(self, plugin: type[Plugin[Any]], ledger: Ledger) -> PluginStatus:
        """What of a plugin is applied, pending and unknown."""
        return _status(plugin, read_folder(plugin, self._url.kind), ledger)

    def prepare(self, stop: Event) -> None:
        """See that the database can be used and is ours, and switch a SQLite file to its write-ahead log."""
        if self._url.kind == "sqlite":
            check_file(self._url)
        with connect(self._url, self._settings) as connection:
            read_ledger(connection, self._url)
            if self._url.kind == "sqlite" and _journal(connection) != "wal":
                # Two processes that switch it at once would see "locked", which no timeout heals.
                with file_lock(self._url.path, self._settings.migrate_timeout, stop):
                    connection.execute("PRAGMA journal_mode = WAL")

    def apply(self, plugin: type[Plugin[Any]], stop: Event, *, check: bool = False) -> tuple[str, ...]:
        """Apply what is pending of a plugin, or with `check` refuse to; says what was applied."""
        files = read_folder(plugin, self._url.kind)
        pending = _known(plugin, files, self.ledger())
        if not pending:
            return ()
        if check:
            raise PendingMigrations(
                f"Plugin {plugin.id!r} has migrations to apply ({', '.join(pending)}) and DATABASE_MIGRATE is 'check':"
                f" run `glados db migrate {plugin.id}`.",
                plugin=plugin.id,
                pending=list(pending),
            )
        with self._locked(stop) as (connection, backend):
            # Whoever held the lock before may have applied them.
            pending = _known(plugin, files, read_ledger(connection, self._url))
            for migration in self._load(files, pending):
                if stop.is_set():
                    raise MigrationError(f"The migration of plugin {plugin.id!r} was stopped before {migration.id!r}.")
                logger.info("Applying migration %s", migration.id)
                with self._step(plugin, migration, "applied", connection, backend):
                    migration.process_steps(backend, "apply")
                    backend.mark_one(migration)
        return pending

    def rollback(self, plugin: type[Plugin[Any]], chosen: tuple[str, ...], stop: Event) -> None:
        """Take back migrations of a plugin, in the order given; all of them must have a rollback."""
        files = read_folder(plugin, self._url.kind)
        for file in files:
            if file.id in chosen and not file.rollback.is_file():
                raise NoRollback(
                    f"Migration {file.id!r} cannot be taken back: there is no {str(file.rollback)!r}.",
                    plugin=plugin.id,
                    migration=file.id,
                )
        with self._locked(stop) as (connection, backend):
            applied = _status(plugin, files, read_ledger(connection, self._url)).applied
            gone = [id for id in chosen if id not in applied]
            if gone:
                raise MigrationError(f"Migration {gone[0]!r} is not applied: look at `glados db status`.")
            loaded = {migration.id: migration for migration in self._load(files, chosen)}
            for id in chosen:
                logger.info("Rolling back migration %s", id)
                with self._step(plugin, loaded[id], "rolled back", connection, backend):
                    loaded[id].process_steps(backend, "rollback")
                    backend.unmark_one(loaded[id])

    @contextmanager
    def _locked(self, stop: Event) -> Generator[tuple[Any, Any]]:
        """A connection and yoyo's backend on it, while no other process migrates."""
        # yoyo is loaded here, where there is something to do: a start with nothing to do is cheap.
        from glados.database.backends import open_backend

        timeout = self._settings.migrate_timeout
        with contextlib.ExitStack() as stack:
            if self._url.kind == "sqlite":
                check_file(self._url)
                stack.enter_context(file_lock(self._url.path, timeout, stop))
            connection = stack.enter_context(connect(self._url, self._settings))
            if self._url.kind == "postgresql":
                _end_with_client(connection)
                stack.enter_context(server_lock(connection, timeout, stop))
            read_ledger(connection, self._url)
            yield connection, open_backend(connection, self._url.kind)

    def _load(self, files: tuple[MigrationFile, ...], ids: tuple[str, ...]) -> list[Any]:
        from glados.database.backends import load

        return [migration for migration in load(files) if migration.id in ids]

    @contextmanager
    def _step(
        self, plugin: type[Plugin[Any]], migration: Any, what: str, connection: Any, backend: Any
    ) -> Generator[None]:
        """One transaction around a migration and its mark, with the checks that end it."""
        kind = self._url.kind
        try:
            with backend.transaction():
                names, dangling = owned(connection, kind), self._dangling(connection)
                yield
                _check_names(plugin.section(), names ^ owned(connection, kind))
                if self._dangling(connection) - dangling:
                    raise MigrationError("it leaves rows that refer to rows which are gone")
        except (MigrationError, backend.DatabaseError, sqlite3.Warning) as error:
            reason = " ".join(self._url.hide(str(error)).split()).rstrip(".")
            raise MigrationError(
                f"Migration {migration.id!r} could not be {what}: {reason} ({migration.path}). Nothing of it was kept.",
                plugin=plugin.id,
                migration=migration.id,
                file=str(migration.path),
            ) from error

    def _dangling(self, connection: Any) -> frozenset[tuple[Any, ...]]:
        """Broken references: SQLite checks none while it migrates, so that a table can be rebuilt."""
        if self._url.kind != "sqlite":
            return frozenset()
        return frozenset(connection.execute("PRAGMA foreign_key_check").fetchall())


def _check_names(section: str, changed: frozenset[str]) -> None:
    for name in sorted(changed):
        if name != section and not name.startswith(f"{section}_"):
            raise MigrationError(f"it creates or drops {name!r}, and the plugin's names begin with '{section}_'")


def _status(plugin: type[Plugin[Any]], files: tuple[MigrationFile, ...], ledger: Ledger) -> PluginStatus:
    ids, marks = [file.id for file in files], ledger.of(plugin.section())
    return PluginStatus(
        id=plugin.id,
        section=plugin.section(),
        applied=tuple(id for id in ids if id in marks),
        pending=tuple(id for id in ids if id not in marks),
        unknown=tuple(mark for mark in marks if mark not in ids),
    )


def _known(plugin: type[Plugin[Any]], files: tuple[MigrationFile, ...], ledger: Ledger) -> tuple[str, ...]:
    """What is pending, if the code knows everything that is applied."""
    status = _status(plugin, files, ledger)
    if status.unknown:
        raise UnknownMigrations(
            f"The database is newer than the code of plugin {plugin.id!r}, which does not have"
            f" {', '.join(status.unknown)}: install the version that has them.",
            plugin=plugin.id,
            unknown=list(status.unknown),
        )
    return status.pending


def _journal(connection: Any) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _end_with_client(connection: Any) -> None:
    """Let the server stop a migration whose process was killed, which frees the lock."""
    import psycopg

    # Before version 14, and on some platforms, a server cannot; the lock is then freed when the statement ends.
    with contextlib.suppress(psycopg.Error):
        connection.execute("SET client_connection_check_interval = '1s'")
