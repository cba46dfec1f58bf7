from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from glados.core import Plugin
from glados.database.connections import connect
from glados.database.ledger import relations
from glados.database.migrations import Migrations
from glados.database.settings import DatabaseSettings
from glados.database.urls import parse_url

MakePlugin = Callable[[str, Mapping[str, str]], type[Plugin[Any]]]


@pytest.fixture
def make_plugin(tmp_path: Path) -> MakePlugin:
    """Make a plugin whose migrations are the given files; calling it again for an id adds to and replaces its files."""

    def make(id: str, files: Mapping[str, str]) -> type[Plugin[Any]]:
        folder = tmp_path / "plugins" / id
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content.encode())
        # An absolute path stands for itself, wherever the class is defined.
        return type("SomePlugin", (Plugin,), {"id": id, "migrations": str(folder)})

    return make


@pytest.fixture
def unprivileged() -> Callable[[], AbstractContextManager[None]]:
    """A block in which root has the rights of anybody: root may write whatever the mode of a file says."""

    @contextmanager
    def drop() -> Generator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.setegid(65534)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return drop


class Store:
    """A database as the tests look at it: what is in it, and how it is migrated."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.url = parse_url(url)
        self.settings = DatabaseSettings(**settings)
        self.migrations = Migrations(self.url, self.settings)

    def apply(self, plugin: Any, *, check: bool = False) -> tuple[str, ...]:
        return self.migrations.apply(plugin, Event(), check=check)

    def rollback(self, plugin: Any, *ids: str) -> None:
        self.migrations.rollback(plugin, ids, Event())

    def marks(self) -> tuple[str, ...]:
        return self.migrations.ledger().marks

    def tables(self) -> set[str]:
        with connect(self.url, self.settings) as connection:
            return {name for name in relations(connection, self.url.kind) if not name.startswith("glados_migrations")}

    def run(self, statement: str) -> list[Any]:
        with connect(self.url, self.settings) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def make_store() -> Callable[..., Store]:
    """Look at the database of an address: `make_store(url, migrate_timeout=1)`."""
    return Store


@pytest.fixture
def store(database_url: str) -> Store:
    """A new, empty database to look at."""
    return Store(database_url)
