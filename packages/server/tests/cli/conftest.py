"""`glados` as a process of its own, on directories of its own, with the probe plugin installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Glados = Callable[..., subprocess.CompletedProcess[str]]
ENTRY_POINTS = """
[glados]
probe = glados_probe:ProbePlugin
[glados.commands]
probe = glados_probe:command
broken = glados_probe:missing
serve = glados_probe:command
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH in which the distribution `glados-probe` is installed."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(Path(__file__).with_name("probe_plugin.py"), folder / "glados_probe.py")
    info = folder / "glados_probe-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: glados-probe\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def environment(site: Path, tmp_path: Path) -> dict[str, str]:
    """An environment that knows nothing of this machine's user, with only the probe plugin."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": str(site),
        "PYTHONWARNINGS": "error",
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PLUGINS_LOAD": "probe",
    }


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The command `glados`, by this interpreter."""
    return [sys.executable, "-m", "glados.server.cli"]


@pytest.fixture
def glados(environment: dict[str, str], program: list[str], tmp_path: Path) -> Glados:
    """Run one command line and give its exit code, stdout and stderr."""

    def run(*args: str | bytes, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*program, *args],
            input=stdin,
            capture_output=True,
            env=environment | variables,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
