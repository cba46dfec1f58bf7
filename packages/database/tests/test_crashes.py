from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("crash_driver.py")


@pytest.fixture
def folders(make_plugin: Any) -> list[str]:
    """Two plugins with three migrations each, all of which make two tables with a row."""
    return [make_plugin(id, dict(migration(id, number) for number in range(3))).migrations for id in ("one", "two")]


def migration(id: str, number: int) -> tuple[str, str]:
    name = f"{id}_{number}"
    statements = [f"CREATE TABLE {name}_{end} (x INTEGER);\nINSERT INTO {name}_{end} VALUES (1);" for end in "ab"]
    return f"2026-01-0{number + 1}-init-{name}.sql", "\n".join(statements)


def drive(mode: str, url: str, folders: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, DRIVER, mode, url, *folders], capture_output=True, text=True, timeout=110, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_kill_at_any_point_leaves_nothing_half_done_and_no_start_stuck(database_url: str, folders: list[str]) -> None:
    drive("kill", database_url, folders)


def test_processes_that_start_at_once_apply_everything_once(database_url: str, folders: list[str]) -> None:
    drive("race", database_url, folders)
