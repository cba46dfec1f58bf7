"""Plugins that are really installed: modules and distributions in a folder on the path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from glados.core import App
from glados.core.testing import ScriptedModel

HEADER = """
import asyncio, sys, time
from contextlib import asynccontextmanager
from pydantic import BaseModel, Field
from glados.core import Plugin, Prepare, Services, hookimpl, tool
"""


class Site:
    """A folder of installed distributions, each with one plugin."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder = folder
        self.data_dir = data_dir
        self.ids: list[str] = []
        self.modules: set[str] = set()

    def module(self, id: str, source: str, *, name: str | None = None, distribution: str | None = None) -> None:
        """Install a module with an entry point that names `Plug` in it."""
        distribution = distribution or f"glados-{id}"
        module = distribution.replace("-", "_")
        (self.folder / f"{module}.py").write_text(HEADER + dedent(source))
        info = self.folder / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[glados]\n{name or id} = {module}:Plug\n")
        self.ids.append(name or id)
        self.modules.add(module)
        importlib.invalidate_caches()

    def plugin(self, id: str, body: str = "", *, before: str = "", base: str = "Plugin", **options: Any) -> None:
        """Install a plugin whose class has this body."""
        text = f"class Plug({base}):\n    id = {id!r}\n\n{indent(dedent(body), '    ')}"
        self.module(id, f"{dedent(before)}\n{text}", **options)

    def good(self, id: str = "good", body: str = "") -> None:
        """Install a plugin that works: the tool `ping`."""
        ping = f"@tool('{id}.ping', read_only=True)\nasync def ping() -> str:\n    'Answer.'\n    return 'pong'\n"
        hook = "@hookimpl\nasync def prepare(self, prepare):\n    prepare.tools.append(ping)\n"
        self.plugin(id, f"{dedent(body)}\n{hook}", before=ping)

    def open(self, *, settings: dict[str, Any] | None = None, **environ: str) -> AbstractAsyncContextManager[App]:
        """Open an app on what is installed here, and on nothing else."""
        chosen = {"PLUGINS_LOAD": ",".join(self.ids), **environ}
        merged = {"glados": {"data_dir": self.data_dir}, **(settings or {})}
        return App.open(settings=merged, environ=chosen, model=ScriptedModel())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Site(folder, tmp_path / "data")
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)
