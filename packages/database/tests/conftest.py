from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from glados.core import Plugin

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
