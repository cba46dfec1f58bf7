"""What can go wrong with the database, split by who must act.

ConfigurationError
├── DatabaseUnavailable        the operator: it cannot be reached, opened or written
└── ForeignDatabase            the operator: it holds the tables of somebody else
PluginError
├── ReadOnlySession            the author: a write inside `database.read()`
├── NestedTransaction          the author: a transaction inside a transaction
├── LostTransaction            the author: a change that ended the transaction it shares
└── MigrationError
    ├── PendingMigrations          the operator runs `glados db migrate`
    ├── UnknownMigrations          the operator installs the version that made them
    └── NoRollback                 the author writes a rollback file
Conflict                       a lost race: try again
└── DatabaseBusy                   no connection or lock became free in time
"""

from __future__ import annotations

from glados.core import ConfigurationError, Conflict, MigrationError, PluginError


class DatabaseUnavailable(ConfigurationError):
    """The database cannot be reached, opened or written."""

    code = "database_unavailable"


class ForeignDatabase(ConfigurationError):
    """The database holds tables and no ledger of glados, so it is left as it is."""

    code = "foreign_database"


class ReadOnlySession(PluginError):
    """Something was written inside `database.read()`."""

    code = "read_only_session"


class NestedTransaction(PluginError):
    """A task opened a transaction while it held one, which would wait for itself."""

    code = "nested_transaction"


class LostTransaction(PluginError):
    """A change of `database.commit()` ended the transaction, or went on after an error that had ended it."""

    code = "lost_transaction"


class PendingMigrations(MigrationError):
    """Migrations are to be applied, and DATABASE_MIGRATE=check leaves that to a person."""

    code = "migrations_pending"


class UnknownMigrations(MigrationError):
    """The database holds migrations of a plugin that its code does not have: the code is too old."""

    code = "migrations_unknown"


class NoRollback(MigrationError):
    """A migration without a rollback file cannot be taken back."""

    code = "no_rollback"


class DatabaseBusy(Conflict):
    """A connection, or a lock of the database, was in use for too long."""

    code = "database_busy"


__all__ = [
    "Conflict",
    "DatabaseBusy",
    "DatabaseUnavailable",
    "ForeignDatabase",
    "LostTransaction",
    "MigrationError",
    "NestedTransaction",
    "NoRollback",
    "PendingMigrations",
    "ReadOnlySession",
    "UnknownMigrations",
]
