"""yoyo on connections of ours: it reads and runs the SQL, and the transaction around it is one.

This module imports yoyo, so it is loaded only when there is something to apply or to take back.
"""

# yoyo and sqlparse have no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import getpass
import os
import socket
import uuid
from datetime import UTC, datetime
from typing import Any

import sqlparse
from yoyo import internalmigrations
from yoyo.backends.base import DatabaseBackend
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend
from yoyo.backends.core.sqlite3 import SQLiteBackend
from yoyo.exceptions import BadMigration
from yoyo.migrations import Migration, get_migration_hash, read_sql_migration, topological_sort

from glados.database.errors import MigrationError
from glados.database.folders import MigrationFile
from glados.database.ledger import LEDGER_TABLE, LOG_TABLE, VERSION_TABLE, relations
from glados.database.urls import Kind

# These would end the transaction that holds the migration and its mark, or cannot run inside one.
_FORBIDDEN = frozenset(
    {"ABORT", "ATTACH", "BEGIN", "COMMIT", "DETACH", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START", "VACUUM"}
)


class _QuietCursor:
    """yoyo prints the rows of a SELECT to the standard output, unless there is no description of them."""

    description = None

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class _Ledger(DatabaseBackend):
    """What both backends change: the names of the tables, whose connection it is, and what the log says."""

    log_table = LOG_TABLE
    version_table = VERSION_TABLE
    kind: Kind

    def __init__(self, connection: Any) -> None:
        self._given = connection
        super().__init__(None, LEDGER_TABLE)

    def connect(self, dburi: Any) -> Any:
        return self._given

    def cursor(self) -> Any:
        return _QuietCursor(self._given.cursor())

    def list_tables(self, **kwargs: Any) -> list[str]:
        return list(relations(self._given, self.kind))

    def prepare(self) -> None:
        """Create yoyo's tables in one transaction, without its lock row, which would survive a crash."""
        if internalmigrations.needs_upgrading(self):
            internalmigrations.upgrade(self)
        self._internal_schema_updated = True

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        # yoyo asks the name server for the host's name and fails where the user has none.
        return {
            "id": str(uuid.uuid4()),
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": _user(),
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }


class _SqliteBackend(_Ledger, SQLiteBackend):
    kind = "sqlite"

    def begin(self) -> None:
        self._in_transaction = True
        self._given.execute("BEGIN IMMEDIATE")

    def execute(self, sql: str, params: Any = None) -> Any:
        # sqlite3's own conversion of datetimes is on its way out.
        values = {key: str(v) if isinstance(v, datetime) else v for key, v in (params or {}).items()}
        return super().execute(sql, values)


class _PostgresqlBackend(_Ledger, PostgresqlPsycopgBackend):
    kind = "postgresql"


def open_backend(connection: Any, kind: Kind) -> Any:
    """A backend of yoyo on a connection whose statements stand alone; yoyo's tables are there afterwards."""
    backend = _SqliteBackend(connection) if kind == "sqlite" else _PostgresqlBackend(connection)
    backend.prepare()
    return backend


def load(files: tuple[MigrationFile, ...]) -> list[Any]:
    """The migrations of one folder as yoyo reads them, in the order of their dependencies, under our ids."""
    ids = {str(file.path): file.id for file in files}
    # yoyo resolves `-- depends:` by bare names over everything it ever read, so each folder is loaded at once.
    migrations: list[Any] = [Migration(file.name, str(file.path), str(file.path.parent)) for file in files]
    for migration in migrations:
        _load(migration, ids[migration.path])
    known = set(migrations)
    for migration in migrations:
        if not migration.depends <= known:
            raise MigrationError(f"Migration {ids[migration.path]!r} depends on one that its folder does not have.")
    ordered = list(topological_sort(migrations))
    for migration in ordered:
        migration.id = ids[migration.path]
        migration.hash = get_migration_hash(migration.id)
    return ordered


def _load(migration: Migration, id: str) -> None:
    try:
        migration.load()
        rollback = f"{migration.path.removesuffix('.sql')}.rollback.sql"
        statements = [*read_sql_migration(migration.path)[2], *read_sql_migration(rollback)[2]]
    except (BadMigration, OSError, ValueError, KeyError) as error:
        raise MigrationError(f"Migration {id!r} cannot be read: {error} ({migration.path}).") from error
    if not migration.use_transactions:
        raise MigrationError(
            f"Migration {id!r} says 'transactional: false': a migration and its mark are one transaction,"
            " so take that line out."
        )
    for statement in statements:
        word = _first_word(statement)
        if word in _FORBIDDEN:
            raise MigrationError(
                f"Migration {id!r} holds the statement {word}: a migration and its mark are one transaction,"
                " so take it out."
            )


def _first_word(statement: str) -> str:
    for parsed in sqlparse.parse(statement):
        token = parsed.token_first(skip_cm=True)
        if token is not None:
            return str(token.value).split()[0].upper()
    return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
