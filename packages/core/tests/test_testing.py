"""What plugin authors test with: isolated apps, a scripted model, and a pytest plugin that costs nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import BaseModel

from glados.core import GladosSettings, ModelError, Plugin, PluginError, Prepare, hookimpl, tool
from glados.core.testing import AppFactory, ScriptedModel, call, plugin_of


class DiceSettings(BaseModel):
    sides: int = 6


@tool("dice.roll", read_only=True)
async def roll(count: int = 1) -> list[int]:
    """Roll dice."""
    return [1] * count


async def test_an_app_sees_nothing_of_the_machine(
    glados_app: AppFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Dice(Plugin[DiceSettings]):
        id = "dice"

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            prepare.context.append(f"sides {self.settings.sides}")

    for name, value in {"OPENAI_API_KEY": "sk-real", "DICE_SIDES": "many", "PLUGINS_LOAD": "x"}.items():
        monkeypatch.setenv(name, value)
    model = ScriptedModel("hello")
    app = await glados_app(plugins=[Dice], model=model)
    assert app.model_name == "scripted"
    assert [record.id for record in app.plugins] == ["dice"]
    assert (await app.run("hi")).text == "hello"
    assert "sides 6" in model.requests[0].system
    assert app.services.get(GladosSettings).data_dir.is_relative_to(tmp_path)


async def test_an_environment_can_be_given(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(roll)], environ={"DICE_ENABLED": "no"})
    assert app.plugins[0].state == "disabled"


async def test_a_plugin_that_fails_fails_the_test(glados_app: AppFactory) -> None:
    class Bad(Plugin):
        id = "bad"

        @hookimpl
        async def setup(self) -> None:
            raise RuntimeError("broken")

    with pytest.raises(PluginError, match=r"bad: The hook 'setup' of plugin 'bad' raised RuntimeError: broken\."):
        await glados_app(plugins=[Bad])
    app = await glados_app(plugins=[Bad], settings={"plugins": {"strict": False}})
    assert app.plugins[0].state == "failed"


async def test_the_script_is_followed_and_its_requests_are_kept(glados_app: AppFactory) -> None:
    model = ScriptedModel(["I roll.", call("dice.roll", count=2)], "Two ones.")
    app = await glados_app(plugins=[plugin_of(roll)], model=model)
    result = await app.run("roll two")
    assert result.text.endswith("Two ones.")
    assert len(model.requests) == 2
    assert [tool.id for tool in model.requests[0].tools] == ["artifacts.read", "dice.roll"]


async def test_a_request_beyond_the_script_is_told(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel())
    with pytest.raises(ModelError, match="ScriptedModel has no reply left for request 1"):
        await app.run("hi")


async def test_apps_are_stopped_when_the_test_ends(tmp_path: Path) -> None:
    stopped = asyncio.Event()

    class Noted(Plugin):
        id = "noted"

        @hookimpl
        async def teardown(self) -> None:
            stopped.set()

    factory = AppFactory(tmp_path)
    await factory(plugins=[Noted])
    await factory.close()
    assert stopped.is_set()


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    return subprocess.run(
        [*command, str(folder)], capture_output=True, text=True, cwd=folder, env=environ, timeout=100, check=False
    )


def test_a_plugins_test_takes_five_lines(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\n")
    (tmp_path / "test_dice.py").write_text(
        dedent('''
        from glados.core import tool
        from glados.core.testing import plugin_of

        @tool("dice.roll", read_only=True)
        async def roll(count: int = 1) -> list[int]:
            """Roll."""
            return [1] * count

        async def test_roll(glados_app):
            app = await glados_app(plugins=[plugin_of(roll)])
            assert (await app.call("dice.roll", {"count": 2}))["result"] == [1, 1]
        ''')
    )
    done = run_pytest(tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_project_that_uses_no_fixture_of_ours_does_not_import_the_core(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    (tmp_path / "conftest.py").write_text(
        dedent("""
        import sys

        def pytest_unconfigure(config):
            print("ours:", sorted(name for name in sys.modules if name.startswith("glados.core")))
            print("plugin:", "glados.pytest_plugin" in sys.modules)
        """)
    )
    for arguments in (["--co"], []):
        done = run_pytest(tmp_path, *arguments)
        assert "ours: []" in done.stdout, done.stdout + done.stderr
        assert "plugin: True" in done.stdout
