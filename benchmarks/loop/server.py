"""A model server that costs next to nothing: chat completions, streamed, picked by what the prompt says.

bench-rounds-N asks N times for four calls of the one tool that the request has, then answers; bench-drip-N writes N
chunks of text, a millisecond apart; bench-wait-N never answers. GET /waiting tells how many requests wait.
Requests are searched and not parsed, so that a long history costs the server no more than a short one.
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any, cast

from benchmarks.loop.task import CALLS, WORD

PAUSE = 0.001
ARGUMENTS = ('{"url":', '"https://example.com/a/page"', ',"limit":20}')  # the pieces in which a call's input arrives
_PROMPT = re.compile(rb"bench-(rounds|drip|wait)-(\d+)")
_TOOL = re.compile(rb'"name": ?"([a-z_]*look)"')
_STREAM = re.compile(rb'"stream": ?true')
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"
_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def event(choices: list[Any], usage: Any = None) -> bytes:
    """One server-sent event, as one chunk of the response."""
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "bench"}
    return framed(b"data: " + json.dumps({**chunk, "choices": choices, "usage": usage}).encode() + b"\n\n")


def framed(data: bytes) -> bytes:
    """A chunk of a response, as HTTP writes it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(**fields: Any) -> bytes:
    """A piece of the answer."""
    return event([{"index": 0, "delta": fields, "logprobs": None, "finish_reason": None}])


def ending(reason: str) -> bytes:
    """Why the answer ends, what it cost, and the end."""
    finish = event([{"index": 0, "delta": {}, "logprobs": None, "finish_reason": reason}])
    return finish + event([], _USAGE) + framed(b"data: [DONE]\n\n") + _END


BEGINNING = _HEAD + delta(role="assistant", content="")
WORD_CHUNK = delta(content=WORD)


@cache
def round_of_calls(tool: str, number: int) -> bytes:
    """A whole answer that asks for the tool four times; ids differ from round to round."""
    pieces: list[bytes] = [BEGINNING]
    for index in range(CALLS):
        function = {"name": tool, "arguments": ""}
        head = {"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}
        rest = ({"index": index, "function": {"arguments": piece}} for piece in ARGUMENTS)
        pieces.extend(delta(tool_calls=[piece]) for piece in (head, *rest))
    return b"".join((*pieces, ending("tool_calls")))


class Connection(asyncio.Protocol):
    """One client; its requests come one after the other."""

    waiting = 0

    def __init__(self) -> None:
        self._received = bytearray()
        self._needed = 0
        self._drip: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Write no more."""
        if self._drip is not None:
            self._drip.cancel()

    def data_received(self, data: bytes) -> None:
        """Collect a request, then answer it."""
        self._received += data
        if not self._needed:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self._received, 0, end)
            self._needed = end + 4 + (int(length[1]) if length else 0)
        if len(self._received) >= self._needed:
            request = bytes(self._received)
            self._received.clear()
            self._needed = 0
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        if request.startswith(b"GET /waiting"):
            self._send_plain(200, str(Connection.waiting))
            return
        prompt = _PROMPT.search(request)
        if prompt is None or not _STREAM.search(request) or not request.startswith(b"POST /v1/chat/completions"):
            self._send_plain(400, "only streamed chat completions with one of the benchmark's prompts are answered")
            return
        kind, amount = prompt[1], int(prompt[2])
        if kind == b"wait":
            Connection.waiting += 1
        elif kind == b"drip":
            self._drip = asyncio.create_task(self._write_slowly(amount))
        else:
            self._transport.write(_round(request, amount))

    async def _write_slowly(self, chunks: int) -> None:
        self._transport.write(BEGINNING)
        for _ in range(chunks):
            await asyncio.sleep(PAUSE)
            self._transport.write(WORD_CHUNK)
        self._transport.write(ending("stop"))

    def _send_plain(self, status: int, text: str) -> None:
        head = f"HTTP/1.1 {status} -\r\ncontent-type: text/plain\r\ncontent-length: {len(text)}\r\n\r\n"
        self._transport.write((head + text).encode())


def _round(request: bytes, rounds: int) -> bytes:
    """The next round, by the number of results that the request holds."""
    done = request.count(b'"tool_call_id"') // CALLS
    if done >= rounds:
        return BEGINNING + delta(content=f"done after {done} rounds") + ending("stop")
    tool = _TOOL.search(request)
    return round_of_calls(tool[1].decode() if tool else "no_tool", done)


async def main() -> None:
    """Serve until the process is ended; the first line of output is the URL."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
