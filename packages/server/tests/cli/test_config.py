"""`glados config`: every value, where it came from, and what is wrong with it."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_values_are_shown_with_their_source(glados: Glados, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[probe]\nlevel = 2\n[server]\nport = 1\n")
    done = glados("config", "--json", "--config", "s.toml", SERVER_PORT="9000")
    sections = json.loads(done.stdout)["sections"]
    assert done.returncode == 0
    assert sections["server"]["port"]["value"] == 9000
    assert sections["server"]["port"]["source"] == "environment variable SERVER_PORT"
    assert (sections["probe"]["level"]["value"], sections["probe"]["level"]["source"]) == (2, "s.toml")
    assert (sections["server"]["host"]["value"], sections["server"]["host"]["source"]) == ("127.0.0.1", "default")
    assert sections["probe"]["enabled"] == {
        "value": True,
        "source": "default",
        "env": "PROBE_ENABLED",
        "description": "Whether the plugin is loaded.",
        "error": None,
    }


def test_secrets_are_never_shown(glados: Glados, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[server]\ntoken = 'hunter2'\n")
    for args in (["config"], ["config", "--json"], ["config", "--reference", "toml"]):
        done = glados(*args, PROBE_SECRET="hunter2", PROBE_LEVEL="1", GLADOS_CONFIG="s.toml")
        assert "hunter2" not in done.stdout + done.stderr
    assert "**********" in glados("config", PROBE_SECRET="hunter2").stdout


def test_a_wrong_value_is_marked_and_the_rest_is_shown(glados: Glados) -> None:
    done = glados("config", SERVER_PORT="x", PROBE_LEVEL="y")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("! port") for line in lines)
    assert any(line.startswith("  ! PROBE_LEVEL is 'y', which is not allowed") for line in lines)
    assert any(line.startswith("  host") for line in lines)
    assert json.loads(glados("config", "--json", PROBE_LEVEL="y").stdout)["sections"]["probe"]["level"]["error"]


def test_a_switch_that_is_neither_on_nor_off_is_wrong(glados: Glados) -> None:
    done = glados("config", PROBE_ENABLED="perhaps")
    assert done.returncode == 1
    assert "[probe] is not shown: PROBE_ENABLED is 'perhaps', which is not allowed" in done.stdout


def test_sections_and_settings_that_nobody_reads_are_told(glados: Glados, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[prob]\nlevel = 2\n[probe]\nlevle = 1\n[database]\nurl = 'sqlite://'\n")
    done = glados("config", "--config", "s.toml", PLUGINS_LOAD="probe,database")
    assert "warning: s.toml has a section [prob] that no installed plugin reads." in done.stdout
    assert "Did you mean 'level'?" in done.stdout
    assert done.returncode == 1


def test_a_plugin_that_is_switched_off_is_told_and_not_imported(glados: Glados) -> None:
    done = glados("config", PROBE_ENABLED="0")
    assert "[probe] is not shown: switched off by environment variable PROBE_ENABLED" in done.stdout
    assert "printed at import" not in done.stderr
    assert done.returncode == 0


def test_the_reference_is_a_settings_file_with_nothing_set(glados: Glados) -> None:
    text = glados("config", "--reference", "toml").stdout
    assert tomllib.loads(text).keys() >= {"server", "permissions", "probe"}
    assert not any(tomllib.loads(text).values())
    assert "# A number. (PROBE_LEVEL)\n# level = 1\n" in text
    assert "| `level` | `PROBE_LEVEL` | `1` | A number. |" in glados("config", "--reference", "markdown").stdout
