"""The packages as a stranger gets them: wheels, installed into a clean environment, without an index."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
WHEELHOUSE = ROOT / ".venv" / "wheelhouse"
PACKAGES = sorted(path.parent.relative_to(ROOT) for path in ROOT.glob("packages/*/pyproject.toml"))
DICE = Path("examples/glados-dice")
LEFT_OUT = shutil.ignore_patterns("build", "dist", "tests", "*.egg-info", "__pycache__", ".*")

# One worker builds and installs, for all tests of this file.
pytestmark = [pytest.mark.xdist_group("install"), pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Installation:
    """An environment outside the workspace, and what a user of it has: a home and a data directory."""

    venv: Path
    wheels: Path
    home: Path

    def run(self, *command: str, cwd: Path | str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with nothing of ours in its surroundings."""
        self.home.mkdir(parents=True, exist_ok=True)
        program = str(self.venv / "bin" / command[0])
        names = {
            "PATH": f"{self.venv / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "GLADOS_DATA_DIR": str(self.home / "glados"),
            "LANG": "C.UTF-8",
        }
        return subprocess.run(
            [program, *command[1:]],
            cwd=cwd or self.home,
            env={**names, **environ},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def glados(self, *arguments: str, **environ: str) -> str:
        """What a successful `glados …` prints."""
        done = self.run("glados", *arguments, **environ)
        assert done.returncode == 0, f"glados {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def json(self, *arguments: str, **environ: str) -> Any:
        """What a successful `glados …` prints, read as JSON."""
        return json.loads(self.glados(*arguments, **environ))

    def pip(self, *arguments: str) -> None:
        """Run pip on the environment, which has none of its own."""
        pip("--python", str(self.venv / "bin" / "python"), *arguments, find=(WHEELHOUSE, self.wheels))

    def for_user(self, home: Path) -> Installation:
        """The same environment, for somebody with nothing in their home."""
        return Installation(self.venv, self.wheels, home)

    @contextmanager
    def without_dice(self) -> Generator[None]:
        """Uninstall the example while the block runs."""
        self.pip("uninstall", "--yes", "glados-dice")
        try:
            yield
        finally:
            self.pip("install", "--no-deps", "--no-compile", "glados-dice")


def pip(*arguments: str, find: tuple[Path, ...] = (WHEELHOUSE,)) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    environ |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environ["PIP_FIND_LINKS"] = " ".join(map(str, find))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", *arguments], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"pip {' '.join(arguments)}: {done.stderr}{done.stdout}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every package of the workspace and the example, built from a copy: setuptools builds where the source lies."""
    if not WHEELHOUSE.is_dir():
        pytest.skip("there is no .venv/wheelhouse: run make test once")
    tree, target = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheels")
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for package in (*PACKAGES, DICE):
        shutil.copytree(ROOT / package, tree / package, ignore=LEFT_OUT)
    sources = [str(tree), *(str(tree / package) for package in (*PACKAGES, DICE))]
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(target), *sources)
    return target


@pytest.fixture(scope="module")
def environment(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A new virtual environment with all of glados, the example and what tests of plugins need."""
    folder = tmp_path_factory.mktemp("installation")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    installation = Installation(folder / "venv", wheels, folder / "home")
    constraints = ("--constraint", str(ROOT / "constraints.txt"))
    wanted = ("glados-agent", "glados-dice", "glados-core[testing]", "setuptools")
    installation.pip("install", "--no-compile", *constraints, *wanted)
    return installation


@pytest.fixture
def user(environment: Installation, tmp_path: Path) -> Installation:
    return environment.for_user(tmp_path / "home")


def plugins(user: Installation) -> dict[str, dict[str, Any]]:
    return {record["id"]: record for record in user.json("plugins", "--json")}


def tables(user: Installation) -> set[str]:
    with sqlite3.connect(user.home / "glados" / "glados.sqlite3") as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    return names


def test_wheels_hold_the_files_that_are_not_python(wheels: Path) -> None:
    held = {wheel.name.partition("-")[0]: set(ZipFile(wheel).namelist()) for wheel in wheels.glob("*.whl")}
    assert {"glados_agent", "glados_core", "glados_dice"} <= set(held)
    assert {"glados_dice/py.typed", "glados_dice/migrations/2026-11-18-init.sql"} <= held["glados_dice"]
    for package in PACKAGES:
        source = ROOT / package / "src"
        wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in {".sql", ".tmpl"}}
        wanted.add(f"glados/{package.name}/py.typed")
        assert wanted <= held[f"glados_{package.name}"]
        assert any(name.endswith("/licenses/LICENSE") for name in held[f"glados_{package.name}"])
    assert not any("glados/__init__.py" in names for names in held.values())


def test_a_third_party_plugin_is_found_as_the_built_in_ones_are(user: Installation) -> None:
    found = plugins(user)
    assert {id: record["state"] for id, record in found.items()} == dict.fromkeys(found, "enabled")
    assert {"conversations", "database", "dice", "web-fetch"} <= set(found)
    assert (found["dice"]["distribution"], found["dice"]["version"]) == ("glados-dice", "0.1.0")
    assert {"dice.roll", "dice.history"} <= {tool["id"] for tool in user.json("tools", "--json")}


def test_its_settings_are_shown_and_read_from_the_environment(user: Installation) -> None:
    shown = user.glados("config", DICE_SIDES="20")
    assert "DICE_SIDES" in shown
    rolls = user.json("call", "dice.roll", '{"count": 100}', "--yes", DICE_SIDES="2")["rolls"]
    assert len(rolls) == 100
    assert set(rolls) <= {1, 2}
    refused = user.run("glados", "call", "dice.roll", "--yes", DICE_SIDES="1")
    assert refused.returncode == 1
    assert "DICE_SIDES" in refused.stderr


def test_its_table_is_migrated_and_used(user: Installation) -> None:
    rolls = user.json("call", "dice.roll", '{"count": 2}', "--yes")["rolls"]
    assert "dice_rolls" in tables(user)
    assert [past["result"] for past in user.json("call", "dice.history")["results"]] == rolls
    status = {plugin["id"]: plugin for plugin in user.json("db", "status", "--json")["plugins"]}
    assert (status["dice"]["applied"], status["dice"]["pending"]) == (["dice.2026-11-18-init"], [])
    user.glados("db", "rollback", "dice", "--yes")
    assert "dice_rolls" not in tables(user)


def test_everything_else_works_without_it(user: Installation) -> None:
    user.glados("call", "dice.roll", "--yes")
    with user.without_dice():
        found = plugins(user)
        assert "dice" not in found
        assert {record["state"] for record in found.values()} == {"enabled"}
        assert "dice_rolls" in tables(user)  # what a plugin wrote stays until somebody removes it
        absent = user.json("db", "status", "--json")["absent"]
        assert [(mark["section"], mark["applied"]) for mark in absent] == [("dice", ["dice.2026-11-18-init"])]
        missing = user.run("glados", "call", "dice.roll", "--json")
        assert missing.returncode == 1
        assert json.loads(missing.stderr)["error"]["code"] == "tool_not_found"
    assert len(user.json("call", "dice.history")["results"]) == 1


def test_a_new_plugin_installs_and_passes_its_own_tests_at_once(user: Installation) -> None:
    user.glados("new-plugin", "weather")
    package = user.home / "glados-weather"
    try:
        user.pip("install", "--no-build-isolation", "--no-compile", "--editable", f"{package}[test]")
        tested = user.run("python", "-m", "pytest", "-q", cwd=package)
        assert tested.returncode == 0, tested.stdout + tested.stderr
        assert plugins(user)["weather"]["state"] == "enabled"
        assert user.json("call", "weather.greet", '{"name": "Ada"}')["text"] == "Hello, Ada!"
    finally:
        user.pip("uninstall", "--yes", "glados-weather")


def test_the_example_passes_its_own_tests_where_it_is_installed(user: Installation, tmp_path: Path) -> None:
    shutil.copytree(ROOT / DICE / "tests", tmp_path / "tests")
    shutil.copy(ROOT / DICE / "pyproject.toml", tmp_path)
    tested = user.run("python", "-m", "pytest", "-q", "-k", "not postgresql", cwd=tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
