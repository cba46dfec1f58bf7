"""Settings files become layers: named ones only, as text, with errors that say where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glados.core import ConfigurationError, Settings
from glados.server.settings import ServerSettings, file_layers, read_layer, user_file


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("GLADOS_CONFIG", raising=False)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def values(path: Path, text: str) -> dict[str, Any]:
    return {name: dict(fields) for name, fields in read_layer(write(path, text)).values.items()}


def test_without_files_there_are_no_layers() -> None:
    assert file_layers() == []


def test_the_named_file_comes_after_the_users_own(tmp_path: Path) -> None:
    write(user_file(), "[server]\nport = 1\nhost = 'a'\n")
    named = write(tmp_path / "named.toml", "[server]\nport = 2\n")
    layers = file_layers(named)
    assert [layer.source for layer in layers] == [str(user_file()), str(named)]
    settings = Settings(layers, environ={}).section("server", ServerSettings).load()
    assert (settings.host, settings.port) == ("a", 2)


def test_the_option_wins_over_the_variable(tmp_path: Path) -> None:
    by_option = write(tmp_path / "option.toml", "[server]\nport = 1\n")
    by_variable = write(tmp_path / "variable.toml", "[server]\nport = 2\n")
    environ = {"GLADOS_CONFIG": str(by_variable)}
    assert [layer.source for layer in file_layers(by_option, environ)] == [str(by_option)]
    assert [layer.source for layer in file_layers(None, environ)] == [str(by_variable)]
    assert file_layers(None, {"GLADOS_CONFIG": ""}) == []


def test_nothing_is_read_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("settings.toml", ".secrets.toml", "config/settings.toml", "glados.toml"):
        write(tmp_path / name, "[server]\nport = 1\n")
    write(tmp_path / ".env", "SERVER_PORT=1\nDYNACONF_SERVER__PORT=1\n")
    monkeypatch.chdir(tmp_path)
    assert file_layers() == []


def test_neither_companions_nor_hooks_beside_a_file_are_loaded(tmp_path: Path) -> None:
    write(tmp_path / "settings.local.toml", "[server]\nport = 9\n[other]\nx = 1\n")
    write(tmp_path / "dynaconf_hooks.py", "raise SystemExit('a hook ran')")
    write(tmp_path / ".env", "SERVER_PORT=9")
    assert values(tmp_path / "settings.toml", "[server]\nport = 1\n") == {"server": {"port": 1}}


@pytest.mark.parametrize(
    "text",
    ["@format {env[HOME]}", "@jinja {{ 1 + 1 }}", "@int 5", "@read_file /etc/hostname", "@none", "@merge a", "@del"],
)
def test_text_stays_text(tmp_path: Path, text: str) -> None:
    assert values(tmp_path / "s.toml", f"[a]\nx = '{text}'\ny = ['{text}']\n") == {"a": {"x": text, "y": [text]}}


def test_keys_that_mean_something_to_dynaconf_mean_nothing_here(tmp_path: Path) -> None:
    text = """
        [settings_module]
        a__b = 1
        [default]
        dynaconf_merge = true
        [load_dotenv]
        keys = 1
        [x__y]
        items = [1]
        ["a.b"]
        c.d = 2
    """
    assert values(tmp_path / "s.toml", text) == {
        "settings_module": {"a__b": 1},
        "default": {"dynaconf_merge": True},
        "load_dotenv": {"keys": 1},
        "x__y": {"items": [1]},
        "a.b": {"c": {"d": 2}},
    }


def test_variables_of_dynaconf_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write(tmp_path / "other.toml", "[server]\nport = 9\n")
    for name, value in {
        "ENVIRONMENTS_FOR_DYNACONF": "true",
        "AUTO_CAST_FOR_DYNACONF": "true",
        "SETTINGS_FILE_FOR_DYNACONF": str(other),
        "DYNACONF_SERVER__PORT": "8",
        "MERGE_ENABLED_FOR_DYNACONF": "true",
    }.items():
        monkeypatch.setenv(name, value)
    assert values(tmp_path / "s.toml", "[server]\nhost = '@format {this}'\n") == {"server": {"host": "@format {this}"}}


@pytest.mark.parametrize("section", ["web_fetch", "WEB_FETCH", "Web-Fetch"])
def test_case_and_hyphens_of_names_do_not_matter(tmp_path: Path, section: str) -> None:
    text = f"[{section}]\nMAX_Characters = 5\nmap = {{ Key = 1 }}\n"
    assert values(tmp_path / "s.toml", text) == {"web_fetch": {"max_characters": 5, "map": {"Key": 1}}}


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert values(tmp_path / "s.toml", "\ufeff[a]\nx = 1\n") == {"a": {"x": 1}}


def test_a_file_needs_no_toml_ending_and_may_have_a_comma(tmp_path: Path) -> None:
    assert values(tmp_path / "a,b;c.conf", "[a]\nx = 1\n") == {"a": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server]\nport =\n", "line 2: Invalid value"),
        ("[server\n", r"line 1: Expected ']'"),
        ("[server]\nport = 1\nport = 2\n", "line 3: Cannot overwrite"),
        ("[server]\nx = '''", "the last line: "),
        ("port = 1\n", "'port' stands outside of any section"),
        ("[server]\na = 1\n[SERVER]\nb = 1\n", "'server' and 'SERVER' are the same section"),
        ("[server]\nA = 1\na = 1\n", r"'A' and 'a' are the same setting of \[server\]"),
        ("[[server]]\na = 1\n", "'server' stands outside"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "wrong.toml", text)
    with pytest.raises(ConfigurationError, match=message) as caught:
        file_layers(path)
    assert str(path) in str(caught.value)


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="named by --config, does not exist"):
        file_layers(tmp_path / "missing.toml")
    with pytest.raises(ConfigurationError, match="named by GLADOS_CONFIG, does not exist"):
        file_layers(None, {"GLADOS_CONFIG": str(tmp_path / "missing.toml")})


def test_a_folder_and_other_encodings_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        file_layers(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"[a]\nx = '\xe9'\n")
    with pytest.raises(ConfigurationError, match=r"is not UTF-8 \(byte 9\)"):
        file_layers(tmp_path / "latin.toml")


def test_dynaconf_is_imported_only_for_a_file(tmp_path: Path) -> None:
    code = "import sys; from glados.server.settings import file_layers; file_layers(); print('dynaconf' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "False\n"


def test_every_setting_of_the_server_is_described() -> None:
    assert all(field.description for field in ServerSettings.model_fields.values())


@pytest.mark.parametrize(("field", "value"), [("port", 65536), ("port", -1), ("host", ""), ("max_body_bytes", 0)])
def test_values_out_of_range_are_refused(field: str, value: object) -> None:
    section = Settings(environ={}, overrides={"server": {field: value}}).section("server", ServerSettings)
    assert [setting.name for setting in section.errors] == [field]
