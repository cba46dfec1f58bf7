"""Every failure is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable

import pytest

from glados.server.cli.failures import report
from glados.server.cli.invocation import Invocation

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_an_error_is_one_sentence_on_stderr(glados: Glados) -> None:
    done = glados("call", "probe.fail")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "glados: It did not \\x1b[31mwork."


def test_with_json_an_error_is_an_object_on_stderr(glados: Glados) -> None:
    done = glados("call", "probe.fail", "--json")
    told = json.loads(done.stderr.splitlines()[-1])
    assert told == {"error": {"code": "tool_failed", "message": "It did\nnot \x1b[31mwork.", "data": {"why": "test"}}}


def test_debug_shows_where_it_comes_from(glados: Glados) -> None:
    for args in (("--debug", "call", "probe.fail"), ("call", "probe.fail", "--debug")):
        done = glados(*args)
        assert "Traceback" in done.stderr
        assert done.returncode == 1


def test_an_unexpected_exception_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    error = ExceptionGroup("tasks", [KeyError("name")])
    assert report(error, Invocation()) == 1
    told = "glados: internal error: KeyError: 'name'. Run it again with --debug to see where it comes from.\n"
    assert capsys.readouterr().err == told


def test_an_error_of_the_system_is_no_internal_error(glados: Glados) -> None:
    done = glados("new-plugin", "weather", "--path", "/dev/null/x")
    assert (done.returncode, done.stderr) == (1, "glados: Not a directory: /dev/null/x.\n")


def test_a_data_directory_that_cannot_be_made_is_told(glados: Glados) -> None:
    done = glados("tools", GLADOS_DATA_DIR="/dev/null/x")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("glados: The data directory '/dev/null/x' cannot be made")


@pytest.mark.parametrize("args", [["nope"], ["run"], ["run", "a", "b"], ["serve", "--port", "70000"], ["tools", "-x"]])
def test_wrong_usage_is_exit_code_2(glados: Glados, args: list[str]) -> None:
    done = glados(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: glados" in done.stderr


def test_a_misspelt_command_is_told_with_the_nearest(glados: Glados) -> None:
    assert glados("plugin").stderr.endswith("Error: No such command 'plugin'. Did you mean 'plugins'?\n")


def test_a_wrong_setting_names_its_variable(glados: Glados) -> None:
    done = glados("tools", PROBE_LEVEL="high")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("glados: PROBE_LEVEL is 'high', which is not allowed: ")


def test_a_wrong_file_is_named_with_its_line(glados: Glados, tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "wrong.toml")
    with open(path, "w") as file:
        file.write("[probe]\nlevel = = 1\n")
    for args in (("--config", path, "tools"), ("tools", "--config", path)):
        done = glados(*args)
        assert done.returncode == 1
        assert done.stderr == f"glados: {path}, line 2: Invalid value. Correct the TOML there.\n"


def test_ctrl_c_is_clean(environment: dict[str, str], program: list[str]) -> None:
    process = subprocess.Popen(
        [*program, "call", "probe.wait"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while process.stderr.readline() != "waiting\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr.strip()) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(environment: dict[str, str], program: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for args in (["tools"], ["tools", "--json"], ["--help"], ["config"], ["run", "hello"]):
        done = subprocess.run([*program, *args], env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
        printed = [line for line in done.stderr.decode().splitlines() if not line.startswith("printed at")]
        assert printed == []
    os.close(writing)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_do_not_matter(environment: dict[str, str], program: list[str], closed: str) -> None:
    command = ["/bin/sh", "-c", f'"$@" {closed}', "sh", *program, "tools"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert ("probe.echo" in done.stdout) == (closed != ">&-")


def test_a_broken_command_of_a_feature_is_told_with_its_package(glados: Glados) -> None:
    done = glados("broken")
    assert done.returncode == 1
    assert "glados: The command 'broken' of glados-probe cannot be loaded: AttributeError" in done.stderr
