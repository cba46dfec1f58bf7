from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlmodel import text

import glados.database
from glados.core import App, Plugin, Services, hookimpl
from glados.database import DatabasePlugin, DatabaseService

FILES = {"2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY);"}

# The fixture's apps refuse to start with a plugin that failed, unless they are told not to.
LENIENT = {"plugins": {"strict": False}}


def states(app: App) -> dict[str, str]:
    return {record.id: record.state for record in app.plugins}


def reason(app: App, id: str) -> str:
    return next(record.reason or "" for record in app.plugins if record.id == id)


async def tables(app: App) -> set[str]:
    database = app.services.get(DatabaseService)
    query = "SELECT name FROM sqlite_master" if database.kind == "sqlite" else "SELECT relname FROM pg_class"
    async with database.read() as session:
        rows = await (await session.connection()).execute(text(query))
        return {row[0] for row in rows if row[0].startswith("notes_") and not row[0].endswith("_pkey")}


async def test_an_app_migrates_a_plugin_before_it_is_set_up(
    glados_app: Any, database_url: str, make_plugin: Any
) -> None:
    seen: list[bool] = []

    class Notes(make_plugin("notes", FILES)):
        @hookimpl
        async def setup(self, services: Services) -> None:
            async with services.get(DatabaseService).transaction() as session:
                await (await session.connection()).execute(text("INSERT INTO notes_items VALUES (1)"))
            seen.append(True)

    app = await glados_app(plugins=[DatabasePlugin, Notes], settings={"database": {"url": database_url}})
    assert states(app) == {"database": "enabled", "notes": "enabled"}
    assert seen == [True]
    assert await tables(app) == {"notes_items"}


async def test_the_file_is_in_the_data_directory_unless_it_is_named(tmp_path: Path) -> None:
    settings = {"glados": {"data_dir": str(tmp_path / "data")}}
    async with App.open(plugins=[DatabasePlugin], settings=settings, environ={}) as app:
        assert app.services.get(DatabaseService).url == f"sqlite:///{tmp_path}/data/glados.sqlite3"
    assert (tmp_path / "data" / "glados.sqlite3").is_file()


async def test_a_failed_migration_costs_its_plugin_alone(glados_app: Any, database_url: str, make_plugin: Any) -> None:
    broken = make_plugin("broken", {"2026-01-01-init.sql": "CREATE TABEL broken_a (x INTEGER);"})
    app = await glados_app(
        plugins=[DatabasePlugin, broken, make_plugin("notes", FILES)],
        settings={"database": {"url": database_url}, **LENIENT},
    )
    assert states(app) == {"database": "enabled", "broken": "failed", "notes": "enabled"}
    assert "broken.2026-01-01-init" in reason(app, "broken")


async def test_check_fails_the_plugin_with_what_to_run(glados_app: Any, database_url: str, make_plugin: Any) -> None:
    settings = {"database": {"url": database_url, "migrate": "check"}, **LENIENT}
    app = await glados_app(plugins=[DatabasePlugin, make_plugin("notes", FILES)], settings=settings)
    assert states(app) == {"database": "enabled", "notes": "failed"}
    assert "glados db migrate notes" in reason(app, "notes")
    assert await tables(app) == set()


async def test_a_database_that_cannot_be_used_fails_it_and_what_requires_it(
    glados_app: Any, tmp_path: Path, make_plugin: Any
) -> None:
    class Other(Plugin):
        id = "other"

    (tmp_path / "diary").write_text("Dear diary, " * 100)
    settings = {"database": {"url": f"sqlite:///{tmp_path}/diary"}, **LENIENT}
    app = await glados_app(plugins=[DatabasePlugin, make_plugin("notes", FILES), Other], settings=settings)
    assert states(app) == {"database": "failed", "notes": "failed", "other": "enabled"}
    assert "is not a SQLite database" in reason(app, "database")


async def test_a_second_start_keeps_what_the_first_one_wrote(
    database_url: str, tmp_path: Path, make_plugin: Any
) -> None:
    settings = {"glados": {"data_dir": str(tmp_path / "data")}, "database": {"url": database_url}}
    plugins = [DatabasePlugin, make_plugin("notes", FILES)]
    for start in range(2):
        async with App.open(plugins=plugins, settings=settings, environ={}) as app:
            async with app.services.get(DatabaseService).transaction() as session:
                connection = await session.connection()
                await connection.execute(text(f"INSERT INTO notes_items VALUES ({start})"))
                count = (await connection.execute(text("SELECT count(*) FROM notes_items"))).scalar_one()
            assert count == start + 1


def test_the_public_names_are_these() -> None:
    assert glados.database.__all__ == [
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
    assert all(hasattr(glados.database, name) for name in glados.database.__all__)
