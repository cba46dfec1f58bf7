"""What is applied: the ledger's marks, read without yoyo, and whether the database is ours at all."""

from __future__ import annotations

from dataclasses import dataclass

from glados.database.connections import DriverConnection
from glados.database.errors import ForeignDatabase
from glados.database.urls import DatabaseUrl, Kind

# yoyo's tables under our names: a database that somebody else keeps with yoyo must not look like ours.
LEDGER_TABLE = "glados_migrations"
LOG_TABLE = "glados_migrations_log"
VERSION_TABLE = "glados_migrations_version"

_RELATIONS: dict[Kind, str] = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'",
    # What an extension brought is nobody's table.
    "postgresql": """
        SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND NOT EXISTS (SELECT 1 FROM pg_depend
                        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
    """,
}

# What else has a name that two plugins could both choose; an index is its table's own affair.
_NAMED: dict[Kind, str] = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": """
        SELECT proname FROM pg_proc
        WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND NOT EXISTS (SELECT 1 FROM pg_depend
                        WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')
        UNION SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
    """,
}

_MARKS = f"SELECT migration_id FROM {LEDGER_TABLE} ORDER BY applied_at_utc, migration_id"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Ledger:
    """The marks of applied migrations, oldest first, each `<section>.<file name>`."""

    marks: tuple[str, ...] = ()

    def of(self, section: str) -> tuple[str, ...]:
        """The marks of one plugin."""
        return tuple(mark for mark in self.marks if section_of(mark) == section)

    def sections(self) -> tuple[str, ...]:
        """The sections that have marks, in the order of their first one."""
        return tuple(dict.fromkeys(section_of(mark) for mark in self.marks))


def section_of(mark: str) -> str:
    """The plugin's section in a migration's id."""
    return mark.partition(".")[0]


def relations(connection: DriverConnection, kind: Kind) -> frozenset[str]:
    """The names of all tables and views, of anybody."""
    return frozenset(str(row[0]) for row in connection.execute(_RELATIONS[kind]).fetchall())


def owned(connection: DriverConnection, kind: Kind) -> frozenset[str]:
    """The names of everything that has to say by its name whose it is: tables, views, triggers and functions."""
    named = frozenset(str(row[0]) for row in connection.execute(_NAMED[kind]).fetchall())
    return relations(connection, kind) | named


def read_ledger(connection: DriverConnection, url: DatabaseUrl) -> Ledger:
    """The marks; a database with tables of somebody else and no ledger of ours is refused."""
    found = relations(connection, url.kind)
    if LEDGER_TABLE in found:
        return Ledger(tuple(str(row[0]) for row in connection.execute(_MARKS).fetchall()))
    if found:
        names = sorted(found)
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        raise ForeignDatabase(
            f"The database {url.shown} holds tables that are not glados' ({shown}) and was not touched:"
            " set DATABASE_URL to an empty database or to one of glados.",
            url=url.shown,
            tables=names,
        )
    return Ledger()
