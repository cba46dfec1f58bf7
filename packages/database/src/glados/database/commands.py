"""`glados db`: what is applied, what is pending, and the two ways between them."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from threading import Event
from typing import Any

import click

from glados.core import CommandContext, GladosError, MigrationError, Plugin, RequestError
from glados.database.errors import UnknownMigrations
from glados.database.ledger import Ledger
from glados.database.migrations import Migrations, PluginStatus
from glados.database.settings import DatabaseSettings
from glados.database.urls import DatabaseUrl


class Target:
    """What every command here works on: the database of the settings and the plugins that have migrations."""

    def __init__(self, context: CommandContext) -> None:
        self.settings: DatabaseSettings = context.settings.section("database", DatabaseSettings).load()
        self.url: DatabaseUrl = self.settings.location(context.data_dir)
        self.migrations = Migrations(self.url, self.settings)
        self.plugins: list[type[Plugin[Any]]] = [type(p) for p in context.plugins if p.migrations is not None]
        self.data_dir = context.data_dir
        self.failed = {record.id.replace("-", "_"): record for record in context.failed}

    def prepare(self) -> None:
        """Make the database usable as a start does, with the data directory that the default file lies in."""
        if self.settings.url is None:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.migrations.prepare(Event())

    def plugin(self, name: str) -> type[Plugin[Any]]:
        """The plugin of that id, or an error that says why there is none."""
        for plugin in self.plugins:
            if name in (plugin.id, plugin.section()):
                return plugin
        record = self.failed.get(name.replace("-", "_"))
        if record is not None:
            raise MigrationError(f"Plugin {record.id!r} could not be loaded: {record.reason}", plugin=record.id)
        known = ", ".join(plugin.id for plugin in self.plugins) or "no plugin has any"
        raise RequestError(f"There is no plugin {name!r} with migrations: choose one of those that have ({known}).")


@click.group("db", short_help="Show and change what is applied to the database.")
def db() -> None:
    """Show and change which migrations of which plugins are applied to the database.

    \b
    Examples:
      glados db status
      glados db migrate
      glados db rollback web-fetch
    """


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def status(context: CommandContext, as_json: bool) -> None:
    """Show what is applied, pending and unknown, plugin by plugin; changes nothing.

    \b
    Examples:
      glados db status
      glados db status --json
    """
    place = Target(context)
    report = _report(place)
    click.echo(json.dumps(report, indent=2) if as_json else _shown(report))


@db.command()
@click.argument("plugin", required=False)
@click.pass_obj
def migrate(context: CommandContext, plugin: str | None) -> None:
    """Apply what is pending, of PLUGIN or of all plugins; one that fails does not stop the others.

    \b
    Examples:
      glados db migrate
      glados db migrate web-fetch
    """
    place = Target(context)
    failures: list[GladosError] = []
    applied = 0
    place.prepare()
    for each in [place.plugin(plugin)] if plugin else place.plugins:
        try:
            for id in place.migrations.apply(each, Event()):
                click.echo(f"Applied {id}.")
                applied += 1
        except MigrationError as failure:
            failures.append(failure)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise MigrationError(" ".join(failure.message for failure in failures))
    if not applied:
        click.echo("Nothing to apply.")


@db.command()
@click.argument("plugin")
@click.option("--to", "target", metavar="ID", help="Take back everything after this migration, which stays applied.")
@click.option("--all", "everything", is_flag=True, help="Take back every migration of the plugin.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.pass_obj
def rollback(context: CommandContext, plugin: str, target: str | None, everything: bool, yes: bool) -> None:
    """Take back the last migration of PLUGIN, or several; what their tables and columns hold is lost.

    \b
    Examples:
      glados db rollback web-fetch
      glados db rollback web-fetch --to 2026-02-18-init
      glados db rollback web-fetch --all --yes
    """
    if target and everything:
        raise click.UsageError("--to and --all exclude each other.")
    place = Target(context)
    chosen_plugin = place.plugin(plugin)
    chosen = _chosen(place.migrations.status(chosen_plugin, place.migrations.ledger()), target, everything=everything)
    if not chosen:
        click.echo(f"Nothing to take back: no such migration of plugin {chosen_plugin.id!r} is applied.")
        return
    if not yes:
        _confirm(chosen)
    place.migrations.rollback(chosen_plugin, chosen, Event())
    for id in chosen:
        click.echo(f"Rolled back {id}.")
    click.echo(_next_start(place.settings, chosen_plugin.id))


def _chosen(status: PluginStatus, target: str | None, *, everything: bool) -> tuple[str, ...]:
    """The migrations to take back, last first."""
    if status.unknown:
        raise UnknownMigrations(
            f"The database is newer than the code of plugin {status.id!r}, which does not have"
            f" {', '.join(status.unknown)}: take them back with the version that has them.",
            plugin=status.id,
            unknown=list(status.unknown),
        )
    last_first = tuple(reversed(status.applied))
    if everything:
        return last_first
    if target is None:
        return last_first[:1]
    id = target if target.startswith(f"{status.section}.") else f"{status.section}.{target}"
    if id not in last_first:
        raise RequestError(f"Migration {target!r} of plugin {status.id!r} is not applied: look at `glados db status`.")
    return last_first[: last_first.index(id)]


def _confirm(chosen: tuple[str, ...]) -> None:
    what = ", ".join(chosen)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise RequestError(f"Taking back {what} deletes data, and there is no terminal to ask on: add --yes.")
    click.confirm(f"Take back {what}? What it made is deleted with all that it holds.", abort=True, err=True)


def _next_start(settings: DatabaseSettings, id: str) -> str:
    if settings.migrate == "auto":
        return (
            "The next start applies this again, because DATABASE_MIGRATE is 'auto':"
            " before that install the version that you want, disable the plugin, or set DATABASE_MIGRATE=check."
        )
    return f"The next start fails plugin {id!r} until `glados db migrate {id}`, because DATABASE_MIGRATE is 'check'."


def _report(place: Target) -> dict[str, Any]:
    ledger = place.migrations.ledger()
    known = {plugin.section() for plugin in place.plugins}
    return {
        "database": {
            "kind": place.url.kind,
            "url": place.url.shown,
            "exists": place.url.kind == "postgresql" or place.url.path.exists(),
            "migrate": place.settings.migrate,
        },
        "plugins": [_plugin(place, plugin, ledger) for plugin in place.plugins],
        "absent": [
            {
                "section": section,
                "applied": list(ledger.of(section)),
                "reason": place.failed[section].reason if section in place.failed else None,
            }
            for section in ledger.sections()
            if section not in known
        ],
    }


def _plugin(place: Target, plugin: type[Plugin[Any]], ledger: Ledger) -> dict[str, Any]:
    try:
        return {**asdict(place.migrations.status(plugin, ledger)), "reason": None}
    except MigrationError as error:
        empty = PluginStatus(plugin.id, plugin.section(), ledger.of(plugin.section()), (), ())
        return {**asdict(empty), "reason": error.message}


def _shown(report: dict[str, Any]) -> str:
    database = report["database"]
    lines = [f"{database['url']}{'' if database['exists'] else ' (not created yet)'}"]
    for plugin in report["plugins"]:
        lines.append(f"{plugin['id']}: {len(plugin['applied'])} applied, {len(plugin['pending'])} pending")
        lines += [f"  pending  {id}" for id in plugin["pending"]]
        lines += [f"  unknown  {id} (the code is older than the database)" for id in plugin["unknown"]]
        lines += [f"  failed   {plugin['reason']}"] if plugin["reason"] else []
    for absent in report["absent"]:
        why = absent["reason"] or "its plugin is not here; its tables are left alone"
        lines.append(f"{absent['section']}: {len(absent['applied'])} applied ({why})")
    return "\n".join(lines)
