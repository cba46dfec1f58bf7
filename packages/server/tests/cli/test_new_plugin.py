"""`glados new-plugin`: a package that installs and passes its own tests at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from glados.core import InvalidInput
from glados.server.cli.scaffold import check_name, write_package

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_the_package_installs_and_passes_its_own_tests(
    glados: Glados, environment: dict[str, str], tmp_path: Path
) -> None:
    done = glados("new-plugin", "my-weather", "--path", "plugins")
    assert done.returncode == 0, done.stderr
    assert "cd plugins/glados-my-weather" in done.stdout
    package, target = tmp_path / "plugins" / "glados-my-weather", tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    environment.pop("PYTHONWARNINGS")  # pip's own warnings are no business of ours
    environment["PYTHONPATH"] = str(target)
    subprocess.run([*pip, "--no-build-isolation", "--target", str(target), str(package)], env=environment, check=True)
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout + tests.stderr
    variables = {"PLUGINS_LOAD": "my-weather", "MY_WEATHER_GREETING": "Ahoy"}
    called = glados("call", "my-weather.greet", '{"name": "Ada"}', **variables)
    assert json.loads(called.stdout) == {"text": "Ahoy, Ada!"}


def test_the_package_is_clean_by_our_own_rules(tmp_path: Path) -> None:
    package = tmp_path / "glados-my-weather"
    write_package(package, "my-weather")
    for rules in (["check", "--select", "E,W,F,I,B,UP"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *rules, "--isolated", "--no-cache", "--line-length", "120"]
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_the_templates_is_left_open(tmp_path: Path) -> None:
    write_package(tmp_path / "glados-x1", "x1")
    files = [path for path in (tmp_path / "glados-x1").rglob("*") if path.is_file()]
    assert len(files) == 10
    assert not any("$" in path.read_text() or "$" in str(path) for path in files)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Weather", "use lower-case letters"),
        ("my_weather", "use lower-case letters"),
        ("../x", "use lower-case letters"),
        ("", "use lower-case letters"),
        ("é", "use lower-case letters"),
        ("class", "a word of Python"),
        ("match", "a word of Python"),
        ("web-fetch", "belongs to glados itself"),
        ("core", "belongs to glados itself"),
        ("server", "belongs to glados itself"),
        ("model-x", "belongs to glados itself"),
        ("glados-x", "leave 'glados-' away"),
    ],
)
def test_names_that_cannot_be_ids_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_name(name)


def test_the_id_of_an_installed_plugin_is_refused(glados: Glados) -> None:
    done = glados("new-plugin", "probe")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'probe' is the id of a plugin of glados-probe" in done.stderr


def test_an_existing_folder_is_not_touched(glados: Glados, tmp_path: Path) -> None:
    (tmp_path / "glados-weather").mkdir()
    done = glados("new-plugin", "weather")
    assert done.returncode == 1
    assert "'glados-weather' exists already" in done.stderr
    assert list((tmp_path / "glados-weather").iterdir()) == []
