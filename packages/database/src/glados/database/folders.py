"""A plugin's folder of migrations: dated SQL files, each with a rollback beside it, for both databases or one each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from glados.core import Plugin
from glados.database.errors import MigrationError
from glados.database.urls import Kind

ROLLBACK_SUFFIX = ".rollback.sql"
LONGEST_ID = 255
KINDS: tuple[Kind, ...] = get_args(Kind)

# By the migration's name, the file for each database; "" stands for both.
_Files = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One migration as it lies in the folder; the id carries the plugin's section, the file's name does not."""

    id: str
    path: Path

    @property
    def name(self) -> str:
        """What others of its folder call it when they depend on it."""
        return self.id.partition(".")[2]

    @property
    def rollback(self) -> Path:
        """Where its rollback is, if it has one."""
        return self.path.with_name(f"{self.path.stem}{ROLLBACK_SUFFIX}")


def read_folder(plugin: type[Plugin[Any]], kind: Kind) -> tuple[MigrationFile, ...]:
    """A plugin's migrations for one database in the order of their names; nothing but the names is read."""
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
        raise _broken(
            plugin, f"has the migration {scripts[0]!r}: write it as a dated SQL file, such as 2026-02-18-init.sql."
        )
    files = _sorted_out(plugin, [name for name in names if not name.endswith(ROLLBACK_SUFFIX)], ".sql")
    rollbacks = _sorted_out(plugin, [name for name in names if name.endswith(ROLLBACK_SUFFIX)], ROLLBACK_SUFFIX)
    _check_rollbacks(plugin, files, rollbacks)
    _check_pairs(plugin, files, ".sql")
    _check_pairs(plugin, rollbacks, ROLLBACK_SUFFIX)
    migrations = tuple(
        MigrationFile(f"{plugin.section()}.{name}", folder / (sides.get(kind) or sides[""]))
        for name, sides in sorted(files.items())
    )
    for migration in migrations:
        if len(migration.id) > LONGEST_ID:
            raise MigrationError(f"The name {migration.path.name!r} is too long: shorten it.", plugin=plugin.id)
    return migrations


def _sorted_out(plugin: type[Plugin[Any]], names: list[str], suffix: str) -> _Files:
    files: _Files = {}
    for name in names:
        stem = name.removesuffix(suffix)
        start, dot, end = stem.rpartition(".")
        # A part that begins with a letter speaks of a database; 2026-02-18-version-1.2 does not.
        kind = end if dot and end[:1].isalpha() else ""
        if kind and kind not in KINDS:
            raise _broken(
                plugin, f"has {name!r}, and {kind!r} is no database: write .sqlite{suffix} and .postgresql{suffix}."
            )
        files.setdefault(start if kind else stem, {})[kind] = name
    return files


def _check_rollbacks(plugin: type[Plugin[Any]], files: _Files, rollbacks: _Files) -> None:
    for migration, sides in rollbacks.items():
        for kind, name in sides.items():
            if kind not in files.get(migration, {}):
                forward = f"{name.removesuffix(ROLLBACK_SUFFIX)}.sql"
                raise _broken(plugin, f"has {name!r} but no {forward!r}: name both for the same migration.")


def _check_pairs(plugin: type[Plugin[Any]], files: _Files, suffix: str) -> None:
    """A migration is one file for both databases, or one for each."""
    for migration, sides in files.items():
        given = sorted(sides.values())
        if "" in sides and len(sides) > 1:
            raise _broken(plugin, f"has {given[0]!r} and {given[1]!r}: keep the one for both databases or the pair.")
        for kind in KINDS:
            if "" not in sides and kind not in sides:
                raise _broken(
                    plugin,
                    f"has {given[0]!r} but no '{migration}.{kind}{suffix}': write it too;"
                    " where there is nothing to do it holds a comment.",
                )


def _broken(plugin: type[Plugin[Any]], what: str) -> MigrationError:
    return MigrationError(f"Plugin {plugin.id!r} {what}", plugin=plugin.id)
