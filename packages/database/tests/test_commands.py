from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest

from glados.core import CommandContext, GladosError, PluginRecord, Settings
from glados.database import ForeignDatabase, MigrationError, NoRollback, UnknownMigrations
from glados.database.commands import db

INIT = {
    "2026-02-18-init.sql": "CREATE TABLE notes_items (id INTEGER PRIMARY KEY);",
    "2026-02-18-init.rollback.sql": "DROP TABLE notes_items;",
}
MORE = {
    "2026-03-01-more.sql": "CREATE TABLE notes_more (x INTEGER);",
    "2026-03-01-more.rollback.sql": "DROP TABLE notes_more;",
}
OTHER = {"2026-02-18-init.sql": "CREATE TABLE other_one_a (x INTEGER);"}

Run = Callable[..., str]


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Run:
    """Run `glados db …` and give what it printed; an error of glados is raised, as the command line's main gets it."""

    def invoke(*arguments: str, plugins: tuple[Any, ...] = (), failed: tuple[Any, ...] = (), **settings: str) -> str:
        overrides = {"database": {"url": database_url, **settings}}
        context = CommandContext(
            Settings(environ={}, overrides=overrides), [p() for p in plugins], list(failed), tmp_path
        )
        result = click.testing.CliRunner().invoke(db, arguments, obj=context, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return invoke


def test_status_creates_nothing_and_says_what_is_pending(run: Run, make_plugin: Any, tmp_path: Path) -> None:
    notes = make_plugin("notes", INIT)
    assert "notes: 0 applied, 1 pending\n  pending  notes.2026-02-18-init" in run("status", plugins=(notes,))
    assert not list(tmp_path.glob("*.sqlite3*"))


def test_status_as_json_lists_every_plugin(run: Run, make_plugin: Any) -> None:
    notes, other = make_plugin("notes", INIT | MORE), make_plugin("other-one", OTHER)
    run("migrate", "notes", plugins=(notes, other))
    report = json.loads(run("status", "--json", plugins=(notes, other)))
    assert report["database"]["exists"] is True
    assert report["database"]["migrate"] == "auto"
    assert report["plugins"] == [
        {
            "id": "notes",
            "section": "notes",
            "applied": ["notes.2026-02-18-init", "notes.2026-03-01-more"],
            "pending": [],
            "unknown": [],
            "reason": None,
        },
        {
            "id": "other-one",
            "section": "other_one",
            "applied": [],
            "pending": ["other_one.2026-02-18-init"],
            "unknown": [],
            "reason": None,
        },
    ]
    assert report["absent"] == []


def test_status_shows_what_is_unknown_and_whose_plugin_is_absent(run: Run, make_plugin: Any) -> None:
    notes, other = make_plugin("notes", INIT | MORE), make_plugin("other-one", OTHER)
    run("migrate", plugins=(notes, other))
    for file in MORE:
        (notes.migrations_path() / file).unlink()
    shown = run("status", plugins=(notes,))
    assert "unknown  notes.2026-03-01-more" in shown
    assert "other_one: 1 applied (its plugin is not here" in shown
    record = PluginRecord("other-one", state="failed", reason="No module named 'x'.")
    assert "other_one: 1 applied (No module named 'x'.)" in run("status", plugins=(notes,), failed=(record,))


def test_status_goes_on_after_a_plugin_whose_folder_is_missing(run: Run, make_plugin: Any) -> None:
    notes, other = make_plugin("notes", {}), make_plugin("other-one", OTHER)
    notes.migrations_path().rmdir()
    shown = run("status", plugins=(notes, other))
    assert "failed   Plugin 'notes' has no folder" in shown
    assert "other-one: 0 applied, 1 pending" in shown


def test_migrate_applies_everything_even_where_starts_only_check(run: Run, make_plugin: Any) -> None:
    notes, other = make_plugin("notes", INIT), make_plugin("other-one", OTHER)
    printed = run("migrate", plugins=(notes, other), migrate="check")
    assert printed == "Applied notes.2026-02-18-init.\nApplied other_one.2026-02-18-init.\n"
    assert run("migrate", plugins=(notes, other)) == "Nothing to apply.\n"


def test_migrate_works_before_the_first_start(make_plugin: Any, tmp_path: Path) -> None:
    data_dir = tmp_path / "share" / "glados"
    context = CommandContext(Settings(environ={}), [make_plugin("notes", INIT)()], [], data_dir)
    click.testing.CliRunner().invoke(db, ["migrate"], obj=context, catch_exceptions=False)
    assert (data_dir / "glados.sqlite3").is_file()
    assert data_dir.stat().st_mode & 0o777 == 0o700


def test_migrate_goes_on_after_a_plugin_that_fails(run: Run, make_plugin: Any) -> None:
    broken = make_plugin("broken", {"2026-01-01-init.sql": "CREATE TABEL broken_a (x INTEGER);"})
    notes = make_plugin("notes", INIT)
    with pytest.raises(MigrationError, match=r"broken\.2026-01-01-init"):
        run("migrate", plugins=(broken, notes))
    assert "notes: 1 applied, 0 pending" in run("status", plugins=(notes,))


def test_rollback_takes_back_the_last_one_and_says_what_the_next_start_does(run: Run, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    run("migrate", plugins=(notes,))
    printed = run("rollback", "notes", "--yes", plugins=(notes,))
    assert printed.startswith("Rolled back notes.2026-03-01-more.\nThe next start applies this again")
    printed = run("rollback", "notes", "--yes", plugins=(notes,), migrate="check")
    assert "The next start fails plugin 'notes' until `glados db migrate notes`" in printed
    assert "Nothing to take back" in run("rollback", "notes", "--yes", plugins=(notes,))


@pytest.mark.parametrize("target", ["2026-02-18-init", "notes.2026-02-18-init"])
def test_rollback_to_a_migration_keeps_it(run: Run, make_plugin: Any, target: str) -> None:
    notes = make_plugin("notes", INIT | MORE)
    run("migrate", plugins=(notes,))
    assert "Rolled back notes.2026-03-01-more." in run("rollback", "notes", "--to", target, "--yes", plugins=(notes,))
    assert "notes: 1 applied, 1 pending" in run("status", plugins=(notes,))


def test_rollback_of_all_goes_backwards(run: Run, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT | MORE)
    run("migrate", plugins=(notes,))
    printed = run("rollback", "notes", "--all", "--yes", plugins=(notes,))
    assert printed.splitlines()[:2] == ["Rolled back notes.2026-03-01-more.", "Rolled back notes.2026-02-18-init."]


def test_rollback_without_a_terminal_needs_yes(run: Run, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT)
    run("migrate", plugins=(notes,))
    with pytest.raises(GladosError, match="add --yes"):
        run("rollback", "notes", plugins=(notes,))
    assert "notes: 1 applied" in run("status", plugins=(notes,))


def test_rollback_refuses_what_it_cannot_take_back(run: Run, make_plugin: Any) -> None:
    notes, other = make_plugin("notes", INIT | MORE), make_plugin("other-one", OTHER)
    run("migrate", plugins=(notes, other))
    with pytest.raises(NoRollback):
        run("rollback", "other-one", "--yes", plugins=(other,))
    with pytest.raises(GladosError, match="is not applied"):
        run("rollback", "notes", "--to", "nothing", "--yes", plugins=(notes,))
    for file in MORE:
        (notes.migrations_path() / file).unlink()
    with pytest.raises(UnknownMigrations):
        run("rollback", "notes", "--yes", plugins=(notes,))


def test_an_unknown_plugin_is_told_with_those_there_are(run: Run, make_plugin: Any) -> None:
    notes = make_plugin("notes", INIT)
    with pytest.raises(GladosError, match=r"'noise'.*\(notes\)"):
        run("migrate", "noise", plugins=(notes,))
    record = PluginRecord("noise", state="failed", reason="No module named 'x'.")
    with pytest.raises(GladosError, match="No module named 'x'"):
        run("rollback", "noise", "--yes", plugins=(notes,), failed=(record,))


def test_the_database_of_somebody_else_is_refused_by_every_command(
    tmp_path: Path, make_plugin: Any, postgresql_server: Any
) -> None:
    import psycopg

    notes = make_plugin("notes", INIT)
    with postgresql_server.database() as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE theirs (x INTEGER)")
        settings = Settings(environ={"DATABASE_URL": url})
        context = CommandContext(settings, [notes()], [], tmp_path)
        for arguments in (["status"], ["migrate"], ["rollback", "notes", "--yes"]):
            with pytest.raises(ForeignDatabase):
                click.testing.CliRunner().invoke(db, arguments, obj=context, catch_exceptions=False)


@pytest.mark.parametrize("command", ["status", "migrate", "rollback"])
def test_every_command_has_examples_in_its_help(command: str) -> None:
    result = click.testing.CliRunner().invoke(db, [command, "--help"])
    assert f"  glados db {command}" in result.output
