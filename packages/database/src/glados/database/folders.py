"""A plugin's folder of migrations: dated SQL files, each with a rollback beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glados.core import Plugin
from glados.database.errors import MigrationError

ROLLBACK_SUFFIX = ".rollback.sql"
LONGEST_ID = 255


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One migration as it lies in the folder; the id carries the plugin's section, the file's name does not."""

    id: str
    path: Path

    @property
    def rollback(self) -> Path:
        """Where its rollback is, if it has one."""
        return self.path.with_name(f"{self.path.stem}{ROLLBACK_SUFFIX}")


def read_folder(plugin: type[Plugin[Any]]) -> tuple[MigrationFile, ...]:
    """The migrations of a plugin in the order of their names; nothing but the names is read."""
    folder = plugin.migrations_path()
    if not folder.is_dir():
        raise MigrationError(
            f"Plugin {plugin.id!r} has no folder {str(folder)!r}: create it, and see that its package data has *.sql.",
            plugin=plugin.id,
        )
    names = sorted(
        path.name for path in folder.iterdir() if path.suffix in (".sql", ".py") and path.name[0] not in "._"
    )
    scripts = [name for name in names if name.endswith(".py") or name.startswith("post-apply")]
    if scripts:
        raise MigrationError(
            f"Plugin {plugin.id!r} has the migration {scripts[0]!r}: write it as a dated SQL file,"
            " such as 2026-02-18-init.sql.",
            plugin=plugin.id,
        )
    files = [name for name in names if not name.endswith(ROLLBACK_SUFFIX)]
    _check_rollbacks(plugin, files, [name for name in names if name.endswith(ROLLBACK_SUFFIX)])
    migrations = tuple(
        MigrationFile(f"{plugin.section()}.{name.removesuffix('.sql')}", folder / name) for name in files
    )
    for migration in migrations:
        if len(migration.id) > LONGEST_ID:
            raise MigrationError(f"The name {migration.path.name!r} is too long: shorten it.", plugin=plugin.id)
    return migrations


def _check_rollbacks(plugin: type[Plugin[Any]], files: list[str], rollbacks: list[str]) -> None:
    for name in rollbacks:
        forward = f"{name.removesuffix(ROLLBACK_SUFFIX)}.sql"
        if forward not in files:
            raise MigrationError(
                f"Plugin {plugin.id!r} has {name!r} but no {forward!r}: name both for the same migration.",
                plugin=plugin.id,
            )
