"""A permission question on a terminal: asked there, answered there, and not fooled by what it shows."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from glados.server.cli.output import as_json, printable
from glados.server.cli.questions import SHOWN, described

CHOICES = "? [y]es once / [s]ession / [a]lways / [n]o: "


@dataclass
class Terminal:
    """A process whose stdin and stderr are a terminal; stdout is a pipe."""

    process: subprocess.Popen[bytes]
    master: int
    seen: str = field(default="")

    def wait_for(self, text: str) -> str:
        """Read what the terminal shows until the text is there; gives what came before it."""
        while text not in self.seen:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            assert data, f"the terminal was closed; it shows {self.seen!r}"
            self.seen += data.decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> tuple[int, str]:
        stdout, _ = self.process.communicate(timeout=30)
        return self.process.returncode, stdout.decode()


Open = Callable[..., Terminal]


@pytest.fixture
def terminal(environment: dict[str, str], program: list[str]) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(*args: str) -> Terminal:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [*program, *args],
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        opened.append(Terminal(process, master))
        return opened[-1]

    yield start
    for each in opened:
        each.process.kill()
        each.process.wait()
        os.close(each.master)
        if each.process.stdout is not None:
            each.process.stdout.close()


@pytest.mark.parametrize("answer", ["y", "yes", "S", "session", "a", "Always"])
def test_a_yes_lets_the_call_go_on(terminal: Open, answer: str) -> None:
    screen = terminal("call", "probe.change", '{"name": "x"}')
    assert 'Allow probe.change {"name": "x"}' in screen.wait_for(CHOICES)
    screen.type(f"{answer}\n")
    code, stdout = screen.end()
    assert (code, json.loads(stdout)) == (0, {"changed": "x"})


@pytest.mark.parametrize("answer", ["n\n", "no\n", "\x04"])
def test_a_no_and_the_end_of_input_deny_it(terminal: Open, answer: str) -> None:
    screen = terminal("call", "probe.change", '{"name": "x"}')
    screen.wait_for(CHOICES)
    screen.type(answer)
    screen.wait_for("glados: probe.change was not allowed")
    assert screen.end() == (1, "")


def test_anything_else_is_asked_again(terminal: Open) -> None:
    screen = terminal("call", "probe.change", '{"name": "x"}')
    screen.wait_for(CHOICES)
    screen.type("perhaps\n")
    screen.wait_for("Please answer")
    screen.wait_for(CHOICES)
    screen.type("y\n")
    assert screen.end()[0] == 0


def test_a_run_asks_too_and_shows_what_it_does(terminal: Open) -> None:
    screen = terminal("run", '/call probe.change {"name": "x"}')
    screen.wait_for(CHOICES)
    screen.type("y\n")
    screen.wait_for("→ probe.change")
    screen.wait_for("✓ probe.change")
    code, stdout = screen.end()
    assert code == 0
    assert "changed" in stdout


def test_a_question_of_the_tool_itself_shows_its_words(terminal: Open) -> None:
    screen = terminal("call", "probe.confirm")
    assert "probe.confirm asks: Really?" in screen.wait_for(" [y]es / [n]o: ")
    screen.type("n\n")
    code, stdout = screen.end()
    assert (code, json.loads(stdout)) == (0, {"yes": False})


def test_ctrl_c_at_a_question_is_clean(terminal: Open) -> None:
    screen = terminal("call", "probe.change", '{"name": "x"}')
    screen.wait_for(CHOICES)
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == (130, "")
    assert "Traceback" not in screen.seen


def test_what_the_question_shows_cannot_control_the_terminal(terminal: Open) -> None:
    screen = terminal("call", "probe.change", json.dumps({"name": "\x1b[2J\u202eevil\x9b0m\r"}))
    shown = screen.wait_for(CHOICES).rpartition("Allow ")[2]
    assert shown == r'probe.change {"name": "\u001b[2J\u202eevil\x9b0m\r"}'


def test_json_on_a_terminal_cannot_control_it(environment: dict[str, str], program: list[str]) -> None:
    master, slave = pty.openpty()
    text = "ü \x1b \x7f \x9b \u202e \U000e0001"
    command = [*program, "call", "probe.echo", json.dumps({"text": text})]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=environment)
    os.close(slave)
    screen = Terminal(process, master)
    shown = screen.wait_for("}")
    process.wait(timeout=30)
    os.close(master)
    assert json.loads(shown + "}") == {"text": text}
    assert shown.replace("\r\n", "").isprintable()
    assert "ü" in shown


def test_numbers_that_json_does_not_know_become_null() -> None:
    assert json.loads(as_json({"a": float("nan"), "b": [float("-inf"), 1.5]})) == {"a": None, "b": [None, 1.5]}


def test_text_for_a_terminal_keeps_lines_and_letters() -> None:
    assert printable("größe\n\t→ \x1b[0m\u200b") == "größe\n\t→ \\x1b[0m\\u200b"


def test_a_long_input_is_cut_and_says_so() -> None:
    text = described("a.b", {"x": "y" * 5000})
    assert len(text) < SHOWN + 100
    assert text.endswith("more characters)")
