"""`glados tools` and `glados plugins`, and the commands of features."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_tools_are_listed_with_what_they_may_do(glados: Glados) -> None:
    lines = glados("tools").stdout.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["probe.change", "destructive"], ["probe.confirm", "read-only"]]


def test_tools_as_json_have_schemas_and_flags(glados: Glados) -> None:
    listed = json.loads(glados("tools", "--json").stdout)
    assert all(tool.keys() == {"id", "description", "input_schema", "output_schema", "flags"} for tool in listed)
    echo = next(tool for tool in listed if tool["id"] == "probe.echo")
    assert echo["input_schema"]["properties"]["text"]["type"] == "string"
    assert echo["flags"]["read_only"] is True


def test_without_tools_the_listing_says_so(glados: Glados) -> None:
    assert "No enabled plugin has a tool" in glados("tools", PROBE_ENABLED="false").stdout
    assert json.loads(glados("tools", "--json", PROBE_ENABLED="false").stdout) == []


def test_plugins_are_listed_with_their_state(glados: Glados) -> None:
    listed = {record["id"]: record for record in json.loads(glados("plugins", "--json").stdout)}
    assert listed["probe"]["version"] == "1.2"
    assert (listed["probe"]["state"], listed["probe"]["reason"]) == ("enabled", None)
    assert (listed["database"]["state"], listed["database"]["reason"]) == ("disabled", "not named in PLUGINS_LOAD")
    assert "probe" in glados("plugins").stdout


def test_a_disabled_plugin_is_not_imported(glados: Glados) -> None:
    done = glados("plugins", PROBE_ENABLED="false")
    assert "printed at import" not in done.stderr
    assert "disabled: switched off by environment variable PROBE_ENABLED" in done.stdout


def test_a_command_of_a_feature_gets_the_settings_and_plugins(glados: Glados, tmp_path: Path) -> None:
    done = glados("probe", PROBE_LEVEL="7")
    assert done.stdout == f"[7] [] {tmp_path / 'data' / 'glados'}\n"


def test_the_help_of_a_feature_loads_no_plugin(glados: Glados) -> None:
    done = glados("probe", "--help", PROBE_LEVEL="wrong")
    assert done.returncode == 0
    assert "Say what the command was given." in done.stdout


def test_errors_of_a_feature_are_told_like_all_others(glados: Glados) -> None:
    done = glados("probe", "--json")
    assert json.loads(done.stderr.splitlines()[-1]) == {
        "error": {"code": "tool_failed", "message": "told as JSON", "data": {"x": 1}}
    }


def test_what_was_given_before_the_name_counts_for_features_too(glados: Glados, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[probe]\nlevel = 9\n")
    assert glados("--config", "s.toml", "probe").stdout.startswith("[9] ")
