"""Connections: slow ones are closed, broken ones are told so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from glados.server.connections import DeadlineProtocol


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeadlineProtocol, "header_seconds", 0.2)


def test_headers_have_ten_seconds() -> None:
    assert DeadlineProtocol.header_seconds == 10


async def test_a_connection_that_drips_its_headers_is_closed(daemon: Any, short_deadline: None) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    ended = asyncio.create_task(reader.read())
    while not ended.done():  # every byte comes well before the deadline, and none of them moves it
        writer.write(b"a")
        await asyncio.wait({ended}, timeout=0.02)
    if ended.exception() is None:  # a byte that comes after the end resets the connection instead
        assert ended.result() == b""
    else:
        assert isinstance(ended.exception(), ConnectionResetError)
    writer.close()


async def test_a_connection_that_says_nothing_is_closed(daemon: Any, short_deadline: None) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    assert await reader.read() == b""
    writer.close()


async def test_the_deadline_holds_for_the_second_request_of_a_connection(daemon: Any, short_deadline: None) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"200 OK" in await reader.readuntil(b'{"status":"ok"}')
    writer.write(b"GET /healthz HT")
    assert await reader.read() == b""
    writer.close()


async def test_a_long_answer_is_not_cut_by_the_deadline(daemon: Any, gate: Any, short_deadline: None) -> None:
    call = asyncio.create_task(daemon.client.post("/api/tools/demo.wait", json={"input": {}}))
    await gate.entered.wait()
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    assert await reader.read() == b""  # a silent connection that came later was closed meanwhile
    writer.close()
    gate.opened.set()
    assert (await call).json() == {"output": {"result": "waited"}}


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_answered_with_a_problem(daemon: Any, request_bytes: bytes) -> None:
    status, headers, body = await daemon.raw(request_bytes)
    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert json.loads(body)["code"] == "invalid_http"


async def test_the_server_does_not_say_what_it_is(daemon: Any) -> None:
    _, headers, _ = await daemon.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert "server" not in headers
