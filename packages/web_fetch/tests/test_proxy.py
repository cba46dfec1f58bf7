"""Fetches through a proxy on a real socket: what is checked before it is asked, and what it is told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from glados.web_fetch.errors import AddressNotAllowed, DomainNotAllowed, PortNotAllowed, ProxyFailed, TlsFailed
from glados.web_fetch.proxy import parse_proxy

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Serve

PUBLIC = "93.184.215.14"
NAMES = {"good.test": [PUBLIC], "a.sub.test": [PUBLIC]}


@dataclass
class ProxyServer:
    """Answers like a proxy; whatever host it is asked for, it goes to one port on loopback."""

    target: int = 0
    port: int = 0
    refusal: bytes | None = None
    refuses_tunnels: bool = False
    heads: list[str] = field(default_factory=list[str])

    @property
    def first_lines(self) -> list[str]:
        return [head.partition("\r\n")[0] for head in self.heads]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            if self.refusal is not None:
                writer.write(self.refusal)
            elif self.refuses_tunnels and head.startswith(b"CONNECT"):
                writer.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            else:
                await self._pass_on(head, reader, writer)
        writer.close()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, out = await asyncio.open_connection("127.0.0.1", self.target)
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            out.write(head)
        await asyncio.gather(_copy(reader, out), _copy(upstream, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[ProxyServer]:
    proxy = ProxyServer()
    server = await asyncio.start_server(proxy.handle, "127.0.0.1")
    proxy.port = server.sockets[0].getsockname()[1]
    async with server:
        yield proxy


def through(fetcher: type[Fetcher], proxy: ProxyServer, names: Any = NAMES, who: str = "", **settings: Any) -> Fetcher:
    values: dict[str, Any] = {"allowed_addresses": [], "allowed_ports": [80, 443, 8080, 8443], **settings}
    return fetcher(names, proxy=f"http://{who}127.0.0.1:{proxy.port}", **values)


async def test_http_is_forwarded_by_the_proxy(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, proxy: ProxyServer
) -> None:
    proxy.target = (await serve(reply("hello"))).port
    client = through(fetcher, proxy)
    assert (await client.get("http://good.test:8080/a/../b?c")).body.data == b"hello"
    assert proxy.first_lines == ["GET http://good.test:8080/a/../b?c HTTP/1.1"]
    assert "\r\nHost: good.test:8080\r\n" in proxy.heads[0]
    assert "proxy-authorization" not in proxy.heads[0].lower()
    assert client.resolver.lookups == ["good.test"]


async def test_https_goes_through_a_tunnel_that_the_proxy_cannot_read(
    serve: Serve,
    fetcher: type[Fetcher],
    reply: Reply,
    proxy: ProxyServer,
    tls_server: ssl.SSLContext,
    tls_client: ssl.SSLContext,
) -> None:
    site = await serve(reply("secret"), tls=tls_server)
    proxy.target = site.port
    client = through(fetcher, proxy, tls=tls_client)
    assert (await client.get("https://good.test:8443/a")).body.data == b"secret"
    assert proxy.first_lines == ["CONNECT good.test:8443 HTTP/1.1"]
    assert site.requests[0].target == "/a"


async def test_the_certificate_is_still_that_of_the_host(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, proxy: ProxyServer, tls_server: ssl.SSLContext
) -> None:
    proxy.target = (await serve(reply("x"), tls=tls_server)).port
    with pytest.raises(TlsFailed):
        await through(fetcher, proxy).get("https://good.test:8443/")


async def test_credentials_are_for_the_proxy_alone(
    serve: Serve,
    fetcher: type[Fetcher],
    reply: Reply,
    proxy: ProxyServer,
    tls_server: ssl.SSLContext,
    tls_client: ssl.SSLContext,
) -> None:
    site = await serve(reply("x"), tls=tls_server)
    proxy.target = site.port
    client = through(fetcher, proxy, who="me:p%40ss@", tls=tls_client)
    await client.get("https://good.test:8443/")
    assert f"\r\nProxy-Authorization: Basic {base64.b64encode(b'me:p@ss').decode()}\r\n" in proxy.heads[0]
    assert not [name for name in site.requests[0].headers if "auth" in name]
    proxy.target = (await serve(reply("x"))).port
    await client.get("http://good.test:8080/")
    assert "Proxy-Authorization: Basic" in proxy.heads[1]


@pytest.mark.parametrize(
    ("url", "names", "error"),
    [
        ("http://evil.test/", {"evil.test": [PUBLIC]}, DomainNotAllowed),
        ("https://good.test/", {"good.test": ["127.0.0.1"]}, AddressNotAllowed),
        ("http://good.test/", {"good.test": [PUBLIC, "10.0.0.1"]}, AddressNotAllowed),
        ("http://169.254.169.254/", {}, AddressNotAllowed),
        ("http://localhost/", {}, AddressNotAllowed),
        ("https://good.test:22/", NAMES, PortNotAllowed),
    ],
)
async def test_what_may_not_be_fetched_is_refused_before_the_proxy_is_asked(
    fetcher: type[Fetcher], proxy: ProxyServer, url: str, names: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await through(fetcher, proxy, names).get(url)
    assert proxy.heads == []


async def test_every_hop_is_checked_before_the_proxy_is_asked(
    serve: Serve, fetcher: type[Fetcher], redirect: Reply, proxy: ProxyServer
) -> None:
    proxy.target = (await serve(redirect("http://a.sub.test:8080/"))).port
    client = through(fetcher, proxy, {"good.test": [PUBLIC], "a.sub.test": ["127.0.0.1"]})
    with pytest.raises(AddressNotAllowed):
        await client.get("http://good.test:8080/")
    assert len(proxy.heads) == 1


async def test_a_name_that_only_the_proxy_can_look_up_is_left_to_it(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, proxy: ProxyServer
) -> None:
    proxy.target = (await serve(reply("x"))).port
    assert (await through(fetcher, proxy, {}).get("http://good.test/")).status == 200
    assert proxy.first_lines == ["GET http://good.test/ HTTP/1.1"]


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno", "407 Proxy Authentication"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "403 Forbidden"),
        (b"HTTP/1.1 200 OK\r\n\r\nand more", "did not answer as a proxy does"),
        (b"SSH-2.0\r\n\r\n", "did not answer as a proxy does"),
        (b"", "did not answer as a proxy does"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000, "did not answer as a proxy does"),
    ],
)
async def test_a_proxy_that_refuses_is_told_with_what_to_check(
    fetcher: type[Fetcher], proxy: ProxyServer, refusal: bytes, reason: str
) -> None:
    proxy.refusal = refusal
    with pytest.raises(ProxyFailed, match=f"{reason}.*WEB_FETCH_PROXY") as caught:
        await through(fetcher, proxy, who="me:hunter2@").get("https://good.test/")
    assert "hunter2" not in str(caught.value.to_dict())


async def test_a_proxy_that_wants_a_password_is_told_for_http_too(fetcher: type[Fetcher], proxy: ProxyServer) -> None:
    proxy.refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(ProxyFailed, match="407 Proxy Authentication Required"):
        await through(fetcher, proxy).get("http://good.test:8080/")


async def test_a_proxy_that_hangs_up_hard_is_told_as_the_proxy(fetcher: type[Fetcher]) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()

    async with await asyncio.start_server(reset, "127.0.0.1") as server:
        proxy = ProxyServer(port=server.sockets[0].getsockname()[1])
        with pytest.raises(ProxyFailed):
            await through(fetcher, proxy).get("https://good.test/")


async def test_http_is_forwarded_where_the_proxy_makes_no_tunnel(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, proxy: ProxyServer
) -> None:
    proxy.target, proxy.refuses_tunnels = (await serve(reply("plain"))).port, True
    assert (await through(fetcher, proxy).get("http://good.test/")).body.data == b"plain"
    assert proxy.first_lines == ["CONNECT good.test:443 HTTP/1.1", "GET http://good.test/ HTTP/1.1"]


@pytest.mark.parametrize("url", ["http://good.test:8080/", "https://good.test/"])
async def test_a_proxy_that_is_not_there_is_told_as_such(fetcher: type[Fetcher], url: str) -> None:
    with pytest.raises(ProxyFailed):
        await through(fetcher, ProxyServer(port=1)).get(url)


async def test_a_proxy_can_be_reached_over_tls(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, tls_server: ssl.SSLContext, tls_client: ssl.SSLContext
) -> None:
    proxy = ProxyServer(target=(await serve(reply("secret"), tls=tls_server)).port)
    tls_client.check_hostname = False  # the certificate of these tests is not one for 127.0.0.1
    async with await asyncio.start_server(proxy.handle, "127.0.0.1", ssl=tls_server) as server:
        port = server.sockets[0].getsockname()[1]
        client = fetcher(NAMES, tls=tls_client, allowed_addresses=[], proxy=f"https://127.0.0.1:{port}")
        assert (await client.get("https://good.test/")).body.data == b"secret"
    assert proxy.first_lines == ["CONNECT good.test:443 HTTP/1.1"]


def test_a_proxy_does_not_show_its_password() -> None:
    assert "hunter2" not in repr(parse_proxy("http://me:hunter2@proxy.test"))
