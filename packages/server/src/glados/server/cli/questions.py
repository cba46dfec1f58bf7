"""A permission question, asked on the terminal."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from glados.core import Answer, Question
from glados.server.cli.output import note, printable

ANSWERS: dict[str, Answer] = {
    "y": "once",
    "yes": "once",
    "s": "session",
    "session": "session",
    "a": "always",
    "always": "always",
    "n": "deny",
    "no": "deny",
}
CHOICES = "[y]es once / [s]ession / [a]lways / [n]o"
YES_OR_NO = "[y]es / [n]o"
SHOWN = 2_000


def can_ask() -> bool:
    """Whether somebody sits at a terminal who can be asked."""
    return os.name == "posix" and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


class Terminal:
    """Asks one question at a time."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, question: Question) -> Answer:
        """The person's answer; the end of input is a no."""
        async with self._one_at_a_time:
            return await _ask(question)


async def confirmed(question: str) -> bool:
    """Ask a question of a command's own; only a yes is one."""
    return await _answer(f"{printable(question)} {YES_OR_NO}: ") == "once"


def described(tool_id: str, input: dict[str, Any]) -> str:
    """The call as a person reads it, on one line and with nothing that could control the terminal."""
    text = printable(json.dumps(input, ensure_ascii=False, default=str))
    if len(text) > SHOWN:
        text = f"{text[:SHOWN]}… ({len(text) - SHOWN} more characters)"
    return f"{tool_id} {text}"


async def _ask(question: Question) -> Answer:
    note(f"{question.text} ({question.why})")
    if question.rule is None:
        asked = f"{question.tool_id} asks: {printable(question.text)} {YES_OR_NO}: "
    else:
        asked = f"Allow {described(question.tool_id, question.input)}? {CHOICES}: "
    return await _answer(asked)


async def _answer(asked: str) -> Answer:
    """What the person types, once it is one of the answers."""
    while True:
        _forget_what_was_typed(sys.stdin.fileno())
        print(asked, end="", file=sys.stderr, flush=True)
        line = await _read_line(sys.stdin.fileno())
        if not line:
            print(file=sys.stderr)
            return "deny"
        answer = ANSWERS.get(line.strip().lower())
        if answer is not None:
            return answer
        print("Please answer with one of the letters in brackets.", file=sys.stderr)


def _forget_what_was_typed(descriptor: int) -> None:
    """What was typed before the question was there is no answer to it."""
    import termios  # not on every platform

    termios.tcflush(descriptor, termios.TCIFLUSH)


async def _read_line(descriptor: int) -> str:
    """One line of the terminal, without blocking the loop, so that Ctrl-C still cancels."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if ready.done():
            return
        try:
            ready.set_result(os.read(descriptor, 4096))
        except OSError:
            ready.set_result(b"")

    loop.add_reader(descriptor, read)
    try:
        return (await ready).decode("utf-8", "replace")
    finally:
        loop.remove_reader(descriptor)
