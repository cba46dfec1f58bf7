"""One worker process as the event loop sees it: asked a question, it answers or it ends."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from glados.core import PluginError
from glados.web_fetch.frames import LENGTHS, READY, packed, parse_header

WORKER = "glados.web_fetch.conversion_worker"
MAX_HEADER = 1_000_000
# A page becomes longer where it is short links and few words; what becomes longer than this is not meant to be read.
MAX_GROWTH = 8
MIN_REPLY = 1_000_000
CHUNK = 256 * 1024


class ProcessEnded(Exception):
    """The process is gone, or says what no worker says; with whether the page was the reason for sure."""

    def __init__(self, reason: str, *, met_limit: bool) -> None:
        super().__init__(reason)
        self.met_limit = met_limit


class ConversionProcess:
    """A worker process; who asks it waits for its answer before the next question."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._replies = process.stdout
        self._is_ready = False

    @classmethod
    async def start(cls, seconds: float, memory: int) -> ConversionProcess:
        """Start one, with nothing of this process: no environment, no working directory, no terminal."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-B", "-m", WORKER, str(seconds), str(memory)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={},
                cwd="/",
                # Ctrl-C in a terminal is for the one who started this process: what it is busy with may yet end well.
                start_new_session=True,
                limit=CHUNK,
            )
        except OSError as error:
            raise PluginError(
                f"The process that converts pages cannot be started ({error.strerror}): try again when this machine"
                " has fewer processes and open files."
            ) from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self._process.returncode is None and not self._replies.at_eof()

    async def ask(self, header: Mapping[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
        """Send a frame and read the one that answers it; a limit that the process met raises ProcessEnded."""
        try:
            await self._wait_until_ready()
            for piece in packed(header, body):
                self._requests.write(piece)
            await self._requests.drain()
            header_length, body_length = LENGTHS.unpack(await self._replies.readexactly(LENGTHS.size))
            if header_length > MAX_HEADER or body_length > MIN_REPLY + MAX_GROWTH * len(body):
                raise ProcessEnded("the answer is too long", met_limit=True)
            reply = parse_header(await self._replies.readexactly(header_length))
            return reply, await self._text(body_length)
        except (OSError, EOFError) as error:
            status = await self._process.wait()
            raise ProcessEnded(f"status {status}", met_limit=status == -signal.SIGPROF) from error
        except (ValueError, TypeError) as error:
            raise ProcessEnded(str(error), met_limit=True) from error

    async def _wait_until_ready(self) -> None:
        if not self._is_ready and await self._replies.read(len(READY)) != READY:
            raise PluginError(
                f"The process that converts pages does not start: run '{sys.executable} -I -m {WORKER} 1 300000000'"
                " in / to see why."
            )
        self._is_ready = True

    async def _text(self, length: int) -> str:
        """The text of an answer, decoded piece by piece: a long one would hold up the loop."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        pieces: list[str] = []
        while length:
            piece = await self._replies.read(min(length, CHUNK))
            if not piece:
                raise EOFError("the answer was cut")
            length -= len(piece)
            pieces.append(decoder.decode(piece, final=not length))
        return "".join(pieces)

    def kill(self) -> None:
        """End it at once, whatever it does."""
        # Not by the process's own method: it would take the exit status away from asyncio, which waits for it.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def wait(self) -> None:
        """Return when it is gone and nothing of it is left."""
        self._requests.close()
        await self._process.wait()
        await self._replies.read()
        with contextlib.suppress(OSError):
            await self._requests.wait_closed()
