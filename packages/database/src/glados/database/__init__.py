"""One database for all plugins: async SQLModel sessions and per-plugin migrations, on SQLite or PostgreSQL."""

from glados.database.errors import (
    Conflict,
    DatabaseBusy,
    DatabaseUnavailable,
    ForeignDatabase,
    MigrationError,
    NestedTransaction,
    NoRollback,
    PendingMigrations,
    ReadOnlySession,
    UnknownMigrations,
)
from glados.database.plugin import DatabasePlugin
from glados.database.service import DatabaseService
from glados.database.settings import DatabaseSettings

__all__ = [
    "Conflict",
    "DatabaseBusy",
    "DatabasePlugin",
    "DatabaseService",
    "DatabaseSettings",
    "DatabaseUnavailable",
    "ForeignDatabase",
    "MigrationError",
    "NestedTransaction",
    "NoRollback",
    "PendingMigrations",
    "ReadOnlySession",
    "UnknownMigrations",
]
