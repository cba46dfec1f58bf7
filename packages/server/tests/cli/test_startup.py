"""Help, the version and usage errors are answered with next to no imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from glados.server.version import __version__

Glados = Callable[..., subprocess.CompletedProcess[str]]


HEAVY = {"asyncio", "dynaconf", "glados.core", "importlib.metadata", "json", "platformdirs", "pluggy", "pydantic"}
CODE = """
import sys
from glados.server.cli import main
main(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def imported(environment: dict[str, str], *args: str) -> set[str]:
    command = [sys.executable, "-c", CODE, *args]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "line",
    [
        "--version",
        "--nope",
        "run",
        "run --help",
        "serve --port x",
        "call --help",
        "config -h",
        "new-plugin -h",
        "sessions -h",
        "sessions export -h",
        "sessions list --limit 0",
    ],
)
def test_nothing_heavy_is_imported_to_answer(environment: dict[str, str], line: str) -> None:
    assert imported(environment, *line.split()) & HEAVY == set()


def test_the_list_of_commands_imports_none_of_them(environment: dict[str, str]) -> None:
    assert imported(environment, "--help") & HEAVY <= {"importlib.metadata", "json"}


def test_the_version_is_that_of_the_distribution(glados: Glados) -> None:
    from importlib.metadata import version

    assert glados("--version").stdout == f"glados {__version__}\n"
    assert version("glados-server") == __version__


def test_the_server_package_imports_nothing_by_itself(environment: dict[str, str]) -> None:
    code = "import sys, glados.server; print(*[name for name in sys.modules if name.startswith('glados.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["glados.server"]


def test_every_command_is_listed_and_has_examples(glados: Glados) -> None:
    listing = glados("--help").stdout
    folder = Path(__file__).parents[2] / "src/glados/server/cli"
    from glados.server.cli.root import COMMANDS

    for name, help in COMMANDS.items():
        assert f"  {name} " in listing
        assert help in listing
        assert (folder / f"{name.replace('-', '_')}.py").exists()
        assert "Examples:\n  " in glados(name, "--help").stdout


def test_commands_of_features_are_listed_by_their_package(glados: Glados) -> None:
    listing = glados("--help").stdout
    assert "probe       Comes with glados-probe." in listing
    assert listing.count("serve ") == 1
