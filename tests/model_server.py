"""A scripted model server with OpenAI's API on a real socket, for tests.

In the test's own loop:    async with ModelServer([Reply(text="Hello")]) as server: ...   # server.url, server.requests
For tests that block:      with model_server_thread([...]) as server: ...
As a process:              python tests/model_server.py --port 0 --script script.json     # prints its URL

It answers GET /v1/models, POST /v1/chat/completions and POST /v1/responses (streamed or not) and, for tests of other
processes, GET /requests (the bodies of all model requests), POST /script (a new script) and POST /release (what hangs
goes on).

What it answers is a script: model_script.py says how one is written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for when this file is started as a script

from tests import model_responses, model_script
from tests.model_script import Call, Reply, Rule, Script

__all__ = ["Call", "ModelServer", "Reply", "Request", "Rule", "Script", "model_server_thread"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class ModelServer:
    """The server; `requests` are the model requests so far, `connections` counts the connections that were made."""

    def __init__(self, script: Script | Sequence[Reply] = (), *, port: int = 0) -> None:
        self.script = script if isinstance(script, Script) else Script(list(script))
        self.requests: list[Request] = []
        self.connections = 0
        self.hanging = asyncio.Event()
        self._released = asyncio.Event()
        self._port = port
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=2**24)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def release(self) -> None:
        """Let everything that hangs now go on."""
        self._released.set()
        self._released = asyncio.Event()
        self.hanging.clear()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await self._answer(await _read(reader), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        match request.method, request.path:
            case "GET", "/v1/models":
                await _send(writer, 200, {"object": "list", "data": [{"id": name} for name in self.script.models]})
            case "POST", "/v1/chat/completions":
                await self._model(request, writer, "chat")
            case "POST", "/v1/responses":
                await self._model(request, writer, "responses")
            case "GET", "/requests":
                await _send(writer, 200, [recorded.body for recorded in self.requests])
            case "POST", "/script":
                self.script = Script.of(request.body)
                await _send(writer, 200, {})
            case "POST", "/release":
                self.release()
                await _send(writer, 200, {})
            case _:
                await _send_error(writer, 404, f"no {request.method} {request.path}")

    async def _model(self, request: Request, writer: asyncio.StreamWriter, api: str) -> None:
        self.requests.append(request)
        key, given = self.script.api_key, request.headers.get("authorization")
        if api in self.script.missing:
            await _send_error(writer, 404, f"no {request.method} {request.path}")
            return
        if key is not None and given != f"Bearer {key}":
            await _send_error(writer, 401, f"Incorrect API key provided: {given}", "invalid_api_key")
            return
        reply = self.script.reply(request.body)
        form = model_responses if api == "responses" else model_script
        if reply.after == 0:
            await self._strike(reply, writer)
        if reply.status >= 400:
            await _send_error(writer, reply.status, reply.error, reply.code, reply.headers)
        elif request.body.get("stream") and not reply.plain:
            await self._stream(reply, form.events(reply, request.body), writer)
        else:
            await _send(writer, reply.status, form.whole(reply, request.body), reply.headers)

    async def _stream(self, reply: Reply, events: Sequence[str], writer: asyncio.StreamWriter) -> None:
        head = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **reply.headers}
        writer.write(_head(reply.status, head))
        for number, data in enumerate(events, 1):
            await asyncio.sleep(reply.delay)
            event = f"data: {data}\n\n".encode()
            size = reply.drip or len(event)
            for start in range(0, len(event), size):
                await _write_chunk(writer, event[start : start + size])
            if number == reply.after:
                await self._strike(reply, writer)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _strike(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.fault == "cut":
            raise ConnectionAbortedError
        if reply.fault == "malformed":
            await _write_chunk(writer, b'data: {"choices": [{"delta"\n\n')
        if reply.fault == "hang":
            released = self._released
            self.hanging.set()
            await released.wait()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, json.loads(body) if body else None)


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _write_chunk(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = json.dumps(body).encode()
    head = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    writer.write(_head(status, head) + content)
    await writer.drain()


async def _send_error(
    writer: asyncio.StreamWriter,
    status: int,
    message: str,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    await _send(writer, status, {"error": {"message": message, "code": code}}, headers)


@contextmanager
def model_server_thread(script: Script | Sequence[Reply] = ()) -> Generator[ModelServer]:
    """A server in a thread of its own, for tests that block."""
    started: list[tuple[ModelServer, asyncio.AbstractEventLoop, asyncio.Event]] = []
    ready = threading.Event()

    async def serve() -> None:
        stop = asyncio.Event()
        async with ModelServer(script) as server:
            started.append((server, asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10), "the model server did not start"
    server, loop, stop = started[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model server with OpenAI's API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="a JSON file; without one, POST /script")
    options = parser.parse_args()
    file = cast("Path | None", options.script)
    script = Script.of(json.loads(file.read_text())) if file else Script()
    async with ModelServer(script, port=options.port) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main())
