"""`glados call`: JSON in, JSON out, whatever else prints."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_the_output_is_printed_as_json(glados: Glados) -> None:
    done = glados("call", "probe.echo", '{"text": "größe \\u001b"}')
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"text": "größe \x1b"}
    assert "größe" in done.stdout


def test_json_is_ascii_where_stdout_can_carry_no_more(glados: Glados) -> None:
    done = glados("call", "probe.echo", '{"text": "größe"}', PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout) == {"text": "größe"}
    assert done.stdout.isascii()


def test_whatever_a_plugin_prints_stays_off_stdout(glados: Glados) -> None:
    done = glados("call", "probe.noisy")
    assert json.loads(done.stdout) == {"noisy": True}
    for way in ("at import", "at setup", "by Python", "to the descriptor", "by a child"):
        assert way in done.stderr


def test_a_dash_reads_the_input_from_stdin(glados: Glados) -> None:
    done = glados("call", "probe.echo", "-", stdin='\ufeff{"text": "é"}'.encode())
    assert json.loads(done.stdout) == {"text": "é"}


@pytest.mark.parametrize(
    ("argument", "stdin", "message"),
    [
        ("{", b"", "The input '{' is no JSON: Expecting property name"),
        ("[1]", b"", "The input '[1]' is JSON, but no object"),
        ("", b"", "The input is empty"),
        ("-", b"\xff", "The input on stdin is not UTF-8 (byte 0xff at 0)"),
        (b'{"text": "\xff"}', b"", "holds '\\udcff' at position 10, which is no character"),
        (r'{"text": "\ud800"}', b"", "holds '\\ud800' at position 10, which is no character"),
        ('{"text": NaN}', b"", "cannot be read as JSON: NaN is no number"),
        ("[" * 100_000, b"", "is nested too deeply: make it flatter"),
        ('{"text": 1}', b"", "The input of probe.echo does not fit: text: "),
    ],
    ids=range(9),
)
def test_a_wrong_input_is_told(glados: Glados, argument: str | bytes, stdin: bytes, message: str) -> None:
    done = glados("call", "probe.echo", argument, "--json", stdin=stdin)
    told = json.loads(done.stderr.splitlines()[-1])["error"]
    assert (done.returncode, done.stdout, told["code"]) == (1, "", "invalid_input")
    assert message in told["message"]


def test_without_a_terminal_a_change_is_denied_with_what_to_do(glados: Glados) -> None:
    done = glados("call", "probe.change", '{"name": "x"}')
    assert (done.returncode, done.stdout) == (1, "")
    told = done.stderr.splitlines()[-1]
    assert "--yes" in told
    assert "PERMISSIONS_ALLOW=probe.change" in told


@pytest.mark.parametrize(("args", "variables"), [(["--yes"], {}), ([], {"PERMISSIONS_ALLOW": "probe.change"})])
def test_a_change_can_be_allowed_beforehand(glados: Glados, args: list[str], variables: dict[str, str]) -> None:
    done = glados("call", "probe.change", '{"name": "x"}', *args, **variables)
    assert json.loads(done.stdout) == {"changed": "x"}


def test_yes_does_not_lift_a_rule_that_denies(glados: Glados) -> None:
    done = glados("call", "probe.change", '{"name": "x"}', "--yes", "--json", PERMISSIONS_DENY="probe.*")
    assert json.loads(done.stderr.splitlines()[-1])["error"]["code"] == "permission_denied"


def test_a_tool_of_a_disabled_plugin_says_so(glados: Glados) -> None:
    done = glados("call", "probe.echo", PROBE_ENABLED="false")
    assert done.stderr == (
        "glados: There is no tool 'probe.echo', because the plugin 'probe' is disabled:"
        " switched off by environment variable PROBE_ENABLED.\n"
    )
