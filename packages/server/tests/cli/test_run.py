"""`glados run`: the answer as it comes, or one JSON object."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

Glados = Callable[..., subprocess.CompletedProcess[str]]


def test_the_answer_alone_is_on_stdout(glados: Glados) -> None:
    done = glados("run", '/call probe.echo {"text": "hello"}')
    assert done.returncode == 0
    assert "hello" in done.stdout
    assert "printed" not in done.stdout
    assert done.stdout.endswith("\n")


def test_json_is_one_object(glados: Glados) -> None:
    done = glados("run", "--json", "/call probe.noisy {}")
    told = json.loads(done.stdout)
    assert {"session_id", "response", "steps", "usage"} <= told.keys()
    assert [step["name"] for step in told["steps"] if step["kind"] == "tool"] == ["probe.noisy"]


def test_a_dash_reads_the_prompt_from_stdin(glados: Glados) -> None:
    assert "from stdin" in glados("run", "-", stdin=b'/call probe.echo {"text": "from stdin"}').stdout


def test_an_empty_prompt_is_refused(glados: Glados) -> None:
    for args, stdin in ((" ", b""), ("-", b"\n")):
        done = glados("run", args, stdin=stdin)
        assert (done.returncode, done.stderr) == (
            1,
            "glados: The prompt is empty: give some text, or '-' to read it from stdin.\n",
        )


def test_an_unknown_session_is_told(glados: Glados) -> None:
    done = glados("run", "hello", "--session", "nope", "--json")
    assert json.loads(done.stderr.splitlines()[-1])["error"]["code"] == "session_not_found"
    assert (done.returncode, done.stdout) == (1, "")


def test_without_a_terminal_a_denied_call_is_told_on_stderr(glados: Glados) -> None:
    done = glados("run", '/call probe.change {"name": "x"}')
    assert "PERMISSIONS_ALLOW=probe.change" in done.stderr


def test_asking_needs_a_terminal(glados: Glados) -> None:
    done = glados("run", "hello", "--on-question", "ask")
    assert done.returncode == 2
    assert "--on-question ask needs a terminal" in done.stderr


def test_the_model_service_that_cannot_be_reached_is_one_sentence(glados: Glados) -> None:
    done = glados("run", "hello", "--json", OPENAI_BASE_URL="http://127.0.0.1:1/v1", MODEL_NORMAL="m")
    assert json.loads(done.stderr.splitlines()[-1])["error"]["code"] == "model_unavailable"
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
