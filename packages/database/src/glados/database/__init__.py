"""One database for all plugins: async SQLModel sessions and per-plugin migrations, on SQLite or PostgreSQL."""

from glados.database.drivers import Connection, Cursor
from glados.database.errors import (
    Conflict,
    DatabaseBusy,
    DatabaseUnavailable,
    ForeignDatabase,
    LostTransaction,
    MigrationError,
    NestedTransaction,
    NoRollback,
    PendingMigrations,
    ReadOnlySession,
    UnknownMigrations,
)
from glados.database.leases import Lease
from glados.database.plugin import DatabasePlugin
from glados.database.service import DatabaseService
from glados.database.settings import DatabaseSettings

__all__ = [
    "Conflict",
    "Connection",
    "Cursor",
    "DatabaseBusy",
    "DatabasePlugin",
    "DatabaseService",
    "DatabaseSettings",
    "DatabaseUnavailable",
    "ForeignDatabase",
    "Lease",
    "LostTransaction",
    "MigrationError",
    "NestedTransaction",
    "NoRollback",
    "PendingMigrations",
    "ReadOnlySession",
    "UnknownMigrations",
]
