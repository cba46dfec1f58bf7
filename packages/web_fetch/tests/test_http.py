"""Requests on real sockets: what they carry, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from glados.core import ToolError
from glados.web_fetch.errors import (
    ConnectFailed,
    DecodeFailed,
    FetchTimeout,
    HttpStatus,
    TlsFailed,
    TooLarge,
    UnsupportedType,
)

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve

HERE = {"good.test": ["127.0.0.1"], "a.sub.test": ["127.0.0.1"], "evil.test": ["127.0.0.1"]}


async def test_a_page_is_fetched_as_it_is(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("<p>hello</p>"))
    response = await fetcher(HERE).get(f"http://good.test:{site.port}/a?b=1#c")
    assert response.status == 200
    assert response.body.data == b"<p>hello</p>"
    assert not response.body.truncated
    assert response.media.name == "text/html"
    assert str(response.url) == f"http://good.test:{site.port}/a?b=1"


async def test_a_request_carries_the_name_and_nothing_of_the_user(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    site = await serve(reply("x"))
    await fetcher(HERE, user_agent="Tester/2").get(f"http://good.test:{site.port}/a?b=1")
    assert site.requests[0].target == "/a?b=1"
    headers = site.requests[0].headers
    assert headers.pop("accept").startswith("text/html")
    assert headers == {"host": f"good.test:{site.port}", "user-agent": "Tester/2", "accept-encoding": "gzip, deflate"}


async def test_the_error_status_is_told_with_its_words(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    for status, reason in (("404 Nope", "Not Found"), ("520 Web Server Error", "Web Server Error"), ("599", "")):
        site = await serve(reply("x", status=status))
        with pytest.raises(HttpStatus) as caught:
            await fetcher(HERE).get(f"http://good.test:{site.port}/x")
        assert caught.value.data["status"] == int(status[:3])
        assert caught.value.data["reason"] == reason
        assert f"/x' answered {status[:3]} {reason}".strip() + ": check the address" in caught.value.message


@pytest.mark.parametrize("name", ["image/png", "application/pdf", "application/octet-stream", "text/css", "nonsense"])
async def test_another_content_type_is_refused_before_its_body_is_read(
    serve: Serve, fetcher: type[Fetcher], name: str
) -> None:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {name}\r\nContent-Length: 100\r\n\r\n".encode())
        await asyncio.sleep(30)  # the body never comes

    site = await serve(answer)
    with pytest.raises(UnsupportedType, match=name) as caught:
        await fetcher(HERE).get(f"http://good.test:{site.port}/")
    assert caught.value.data["content_type"] == name


async def test_a_body_over_the_limit_is_cut(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply(b"x" * 5000))
    response = await fetcher(HERE, max_bytes=1000).get(f"http://good.test:{site.port}/")
    assert response.body.data == b"x" * 1000
    assert response.body.truncated


async def test_tls_keeps_the_name_while_the_address_is_pinned(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, tls_server: ssl.SSLContext, tls_client: ssl.SSLContext
) -> None:
    names: list[str] = []
    tls_server.sni_callback = lambda _socket, name, _context: names.append(name)
    site = await serve(reply("secret"), tls=tls_server)
    get = fetcher(HERE, tls=tls_client).get
    assert (await get(f"https://good.test:{site.port}/")).body.data == b"secret"
    assert (await get(f"https://A.Sub.Test.:{site.port}/")).body.data == b"secret"
    assert names == ["good.test", "a.sub.test"]


async def test_an_untrusted_certificate_is_refused(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, tls_server: ssl.SSLContext
) -> None:
    site = await serve(reply("x"), tls=tls_server)
    with pytest.raises(TlsFailed, match="self-signed certificate"):
        await fetcher(HERE).get(f"https://good.test:{site.port}/")
    assert not site.requests


async def test_a_certificate_for_another_name_is_refused(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, tls_server: ssl.SSLContext, tls_client: ssl.SSLContext
) -> None:
    site = await serve(reply("x"), tls=tls_server)
    with pytest.raises(TlsFailed, match="Hostname mismatch"):
        await fetcher(HERE, rules=["evil.test"], tls=tls_client).get(f"https://evil.test:{site.port}/")


async def test_a_server_without_tls_is_no_secure_connection(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply("x"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1")
    async with server:
        with pytest.raises(TlsFailed):
            await fetcher(HERE).get(f"https://good.test:{server.sockets[0].getsockname()[1]}/")


@pytest.mark.hostile("RSP-050")
async def test_a_server_that_speaks_only_old_tls_is_refused(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, tls_server: ssl.SSLContext, tls_client: ssl.SSLContext
) -> None:
    tls_client.minimum_version = ssl.TLSVersion.TLSv1_3
    tls_server.maximum_version = ssl.TLSVersion.TLSv1_2
    site = await serve(reply("x"), tls=tls_server)
    with pytest.raises(TlsFailed):
        await fetcher(HERE, tls=tls_client).get(f"https://good.test:{site.port}/")


async def test_the_default_client_refuses_tls_before_1_2(fetcher: type[Fetcher]) -> None:
    assert fetcher(HERE).client._tls.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_a_closed_port_is_a_failed_connection(serve: Serve, fetcher: type[Fetcher]) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(ConnectFailed) as caught:
        await fetcher(HERE).get(f"http://good.test:{port}/")
    assert caught.value.data == {"domain": "good.test"}


async def test_a_listed_ip_literal_is_fetched_without_a_lookup(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    site = await serve(reply("x"))
    client = fetcher({}, rules=["127.0.0.1"])
    assert (await client.get(f"http://127.0.0.1:{site.port}/")).status == 200
    assert client.resolver.lookups == []


async def test_an_ipv6_literal_keeps_its_brackets_in_the_host_header(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    try:
        site = await serve(reply("x"), ["::1"])
    except OSError:
        pytest.skip("this machine has no IPv6")
    client = fetcher({}, rules=["[::1]"], allowed_addresses=["::1/128"])
    assert (await client.get(f"http://[0::1]:{site.port}/")).status == 200
    assert site.requests[0].headers["host"] == f"[::1]:{site.port}"


@pytest.mark.hostile("RSP-012")
async def test_a_host_that_does_not_answer_at_all_is_a_timeout(fetcher: type[Fetcher]) -> None:
    # A listener whose queue is full leaves every further SYN without an answer.
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        with pytest.raises(FetchTimeout, match=r"take a connection within 0\.2 s"):
            await fetcher(HERE, connect_timeout=0.2).get(f"http://good.test:{listener.getsockname()[1]}/")


def raw(head: str, body: bytes = b"") -> bytes:
    return head.replace("\n", "\r\n").encode() + b"\r\n" + body


OK = "HTTP/1.1 200 OK\nContent-Type: text/html\n"

BROKEN = {
    "RSP-002": (raw(OK + "Content-Encoding: gzip, gzip, gzip\nContent-Length: 1\n", b"x"), DecodeFailed),
    "RSP-013": (raw(OK + "Content-Length: 100\n", b"0123456789"), ConnectFailed),
    "RSP-015": (raw(OK + "Content-Length: -5\n", b"x"), ConnectFailed),
    "RSP-016": (raw(OK + "Content-Length: 3\nContent-Length: 7\n", b"1234567"), ConnectFailed),
    "RSP-020": (raw(OK + "Transfer-Encoding: chunked\n", b"FFFFFF\r\n12345"), ConnectFailed),
    "RSP-023": (raw(OK + "Transfer-Encoding: chunked\n", b"5;" + b"x" * 1_000_000 + b"\r\n"), ConnectFailed),
    "RSP-025": (raw(OK + "".join(f"X-{n}: y\n" for n in range(5000))), ConnectFailed),
    "RSP-026": (raw("HTTP/1.1 103 Early Hints\n") * 100_000, ConnectFailed),
    "RSP-027": (b"<p>hello</p>\r\n\r\n", ConnectFailed),
    # Nobody asked whether the page has changed; the error's words tell the model what was answered.
    "RSP-030": (raw("HTTP/1.1 304 Not Modified\n"), HttpStatus),
    "RSP-032": (b"", ConnectFailed),
    "RSP-035": (raw("HTTP/1.1 200 OK\nContent-Type: image/png\nContent-Length: 3\n", b"<p>"), UnsupportedType),
    "RSP-045": (raw("HTTP/1.1 200 OK\nContent-Type: application/zip\nContent-Length: 2\n", b"PK"), UnsupportedType),
    "RSP-052": (raw("HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Basic\nContent-Length: 0\n"), HttpStatus),
    "RSP-053": (raw("HTTP/1.1 407 Proxy\nProxy-Authenticate: Basic\nContent-Length: 0\n"), HttpStatus),
    "RSP-057": (raw("HTTP/1.1 429 Slow Down\nRetry-After: 99999999\nContent-Length: 0\n"), HttpStatus),
    "RSP-058": (raw("HTTP/1.1 503 Service Unavailable\nContent-Length: 0\n"), HttpStatus),
    "brotli": (raw(OK + "Content-Encoding: br\nContent-Length: 1\n", b"x"), DecodeFailed),
    "101 headers": (raw(OK + "".join(f"X-{n}: y\n" for n in range(100)) + "Content-Length: 0\n"), ConnectFailed),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_or_unwanted_answer_is_one_clear_error_and_is_not_asked_for_again(
    serve: Serve, fetcher: type[Fetcher], name: str
) -> None:
    content, error = BROKEN[name]

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()

    site = await serve(answer)
    with pytest.raises(ToolError) as caught:
        await fetcher(HERE).get(f"http://good.test:{site.port}/")
    assert type(caught.value) is error
    assert len(site.requests) == 1


@pytest.mark.hostile("RSP-029")
async def test_no_content_is_an_empty_page(serve: Serve, fetcher: type[Fetcher]) -> None:
    site = await serve(raw("HTTP/1.1 204 No Content\n", b"<p>a body that must not be here</p>"))
    assert (await fetcher(HERE).get(f"http://good.test:{site.port}/")).body.data == b""


@pytest.mark.hostile("RSP-031")
async def test_an_empty_answer_is_an_empty_page(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply(b""))
    response = await fetcher(HERE).get(f"http://good.test:{site.port}/")
    assert (response.status, response.body.data, response.body.truncated) == (200, b"", False)


@pytest.mark.hostile("RSP-007")
async def test_an_endless_body_is_cut_at_the_limit(serve: Serve, fetcher: type[Fetcher]) -> None:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw(OK + "Transfer-Encoding: chunked\n"))
        while True:
            writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            await writer.drain()

    site = await serve(answer)
    # The case expects an error; here a body over the limit is cut, and the result says so.
    response = await fetcher(HERE).get(f"http://good.test:{site.port}/")
    assert len(response.body.data) == 5_000_000
    assert response.body.truncated


@pytest.mark.hostile("RSP-008")
async def test_a_slow_drip_ends_at_the_total_deadline(serve: Serve, fetcher: type[Fetcher]) -> None:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(raw(OK + "Content-Length: 1000\n"))
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    site = await serve(answer)
    with pytest.raises(TimeoutError):
        await fetcher(HERE, timeout=0.3).get(f"http://good.test:{site.port}/")


async def test_a_bomb_is_refused(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    site = await serve(reply(bomb, headers=[("Content-Encoding", "gzip")]))
    with pytest.raises(TooLarge):
        await fetcher(HERE).get(f"http://good.test:{site.port}/")
