"""`glados serve`: what it says at the start, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glados.core import PluginRecord
from glados.server.announce import curl_line, plugin_line

Glados = Callable[..., subprocess.CompletedProcess[str]]


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(environment: dict[str, str], program: list[str]) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def serve(*args: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*program, "serve", *args],
            env=environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield serve
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def lines_until(process: subprocess.Popen[str], pattern: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and re.match(pattern, lines[-1])):
        line = process.stdout.readline()
        assert line, f"it ended after {lines}"
        lines.append(line.rstrip("\n"))
    return lines


def test_it_announces_plugins_address_data_model_and_a_line_to_try(start: Start, tmp_path: Path) -> None:
    process = start("--port", "0")
    lines = [line for line in lines_until(process, "curl ") if not line.startswith("printed")]
    data = tmp_path / "data" / "glados"
    assert "[glados]   probe: enabled" in lines
    assert "[glados]   database: disabled" in lines
    assert f"[glados] data in {data}" in lines
    assert "[glados] model: offline" in lines
    address = next(line for line in lines if "listening on" in line).rpartition(" ")[2]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    token = (data / "token").read_text().strip()
    words = shlex.split(lines[-1].replace(f"$(cat {data}/token)", token))
    request = urllib.request.Request(words[2], words[-1].encode(), dict(word.split(": ", 1) for word in words[4:7:2]))
    with urllib.request.urlopen(request, timeout=30) as response:
        assert "session_id" in json.load(response)


def test_it_serves_on_when_nobody_reads_what_it_says(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = start("--port", str(port))
    assert process.stdout is not None
    process.stdout.close()
    while not is_ready(port):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as response:
            return response.status == 200
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(start: Start, number: signal.Signals) -> None:
    process = start("--port", "0")
    lines_until(process, "curl ")
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (0, "")


def test_a_taken_port_is_one_sentence(start: Start, glados: Glados) -> None:
    process = start("--port", "0")
    address = next(line for line in lines_until(process, "curl ") if "listening" in line).rpartition(":")[2]
    done = glados("serve", "--port", address)
    assert done.returncode == 1
    assert done.stderr.startswith("glados: ")
    assert address in done.stderr
    assert done.stderr.count("\n") == 1


def test_host_and_port_come_from_settings_and_options_win(glados: Glados) -> None:
    done = glados("serve", "--host", "256.0.0.1", SERVER_HOST="127.0.0.1")
    assert done.returncode == 1
    assert "256.0.0.1" in done.stderr
    done = glados("serve", SERVER_PORT="x")
    assert done.stderr.startswith("glados: SERVER_PORT is 'x', which is not allowed")


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (PluginRecord("web-fetch"), "[glados]   web-fetch: enabled"),
        (PluginRecord("web-fetch", state="disabled", reason="switched off"), "[glados]   web-fetch: disabled"),
        (PluginRecord("a", state="failed", reason="the\n reason"), "[glados]   a: failed: the reason"),
    ],
)
def test_a_plugin_is_announced_by_its_state(record: PluginRecord, line: str) -> None:
    assert plugin_line(record) == line


def test_the_line_to_try_can_be_pasted_whatever_the_folder_is_called() -> None:
    line = curl_line("http://[::1]:1", Path("/it's here"), own_token=False)
    assert """$(cat '/it'"'"'s here/token')""" in line
    assert "Bearer $SERVER_TOKEN" in curl_line("http://[::1]:1", Path("/x"), own_token=True)
