"""http:// becomes https:// where the host is public and answers; the network below the guard is told where it is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpcore
import pytest

from glados.web_fetch.errors import DomainNotAllowed, HttpStatus, TooManyRedirects
from glados.web_fetch.transport import Network

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve, Site

PUBLIC = "93.184.215.14"
NAMES = {"good.test": [PUBLIC], "a.sub.test": [PUBLIC]}
OFFLINE = 1


class Internet(httpcore.AsyncNetworkBackend):
    """Connects to sites on loopback by the public addresses and ports that they stand for."""

    def __init__(self, ports: dict[int, int]) -> None:
        self.ports = ports
        self.asked: list[tuple[str, int]] = []
        self._network = Network()

    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        self.asked.append((host, port))
        return await self._network.connect_tcp("127.0.0.1", self.ports[port])


Public = Callable[..., "tuple[Fetcher, Internet]"]


@pytest.fixture
def public(fetcher: type[Fetcher], tls_client: ssl.SSLContext) -> Public:
    def make(plain: Site | None, secure: Site | None, **settings: Any) -> tuple[Fetcher, Internet]:
        internet = Internet({80: plain.port if plain else OFFLINE, 443: secure.port if secure else OFFLINE})
        values = {"allowed_addresses": [], **settings}
        return fetcher(NAMES, tls=tls_client, network=internet, **values), internet

    return make


async def test_a_public_host_is_asked_over_https(
    serve: Serve, public: Public, reply: Reply, tls_server: ssl.SSLContext
) -> None:
    plain, secure = await serve(reply("plain")), await serve(reply("secret"), tls=tls_server)
    client, internet = public(plain, secure)
    response = await client.get("http://good.test/a?b=1")
    assert response.body.data == b"secret"
    assert str(response.url) == "https://good.test/a?b=1"
    assert internet.asked == [(PUBLIC, 443)]
    assert not plain.requests


@pytest.mark.parametrize("failing", ["closed", "no tls", "untrusted", "hangs", "hangs up"])
async def test_http_is_asked_where_https_fails(
    serve: Serve,
    public: Public,
    fetcher: type[Fetcher],
    reply: Reply,
    tls_server: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    failing: str,
) -> None:
    fetched = asyncio.Event()

    async def silence(_: Request, writer: asyncio.StreamWriter) -> None:
        await fetched.wait()

    answers: dict[str, Any] = {
        "closed": None,
        "no tls": await serve(reply("x")),
        "untrusted": await serve(reply("x"), tls=tls_server),
        "hangs": await serve(silence, tls=tls_server),
        "hangs up": await serve(b"", tls=tls_server),
    }
    if failing == "hangs up":

        async def hang_up(_: Request, writer: asyncio.StreamWriter) -> None:
            writer.close()

        answers["hangs up"].answer = hang_up
    plain = await serve(reply("plain"))
    monkeypatch.setattr("glados.web_fetch.http.UPGRADE_TIMEOUT", 0.3)
    if failing == "untrusted":
        internet = Internet({80: plain.port, 443: answers[failing].port})
        client = fetcher(NAMES, network=internet, allowed_addresses=[])
    else:
        client, _ = public(plain, answers[failing])
    response = await client.get("http://good.test/")
    fetched.set()
    assert response.body.data == b"plain"
    assert str(response.url) == "http://good.test/"


async def test_what_https_answers_is_the_answer(
    serve: Serve, public: Public, reply: Reply, tls_server: ssl.SSLContext
) -> None:
    plain, secure = await serve(reply("plain")), await serve(reply("x", status="404 Not Found"), tls=tls_server)
    with pytest.raises(HttpStatus):
        await public(plain, secure)[0].get("http://good.test/")
    assert not plain.requests


async def test_a_host_that_sends_back_to_http_is_asked_there(
    serve: Serve, public: Public, reply: Reply, redirect: Reply, tls_server: ssl.SSLContext
) -> None:
    plain, secure = await serve(reply("plain")), await serve(redirect("http://good.test/"), tls=tls_server)
    for url in ("http://good.test/", "https://good.test/"):
        response = await public(plain, secure)[0].get(url)
        assert response.body.data == b"plain"
        assert [str(hop) for hop in response.hops] == ["https://good.test/", "http://good.test/"]


async def test_a_loop_between_http_and_https_ends(
    serve: Serve, public: Public, redirect: Reply, tls_server: ssl.SSLContext
) -> None:
    plain = await serve(redirect("https://good.test/"))
    secure = await serve(redirect("http://good.test/"), tls=tls_server)
    with pytest.raises(TooManyRedirects):
        await public(plain, secure)[0].get("http://good.test/")
    assert len(plain.requests) + len(secure.requests) == 6


async def test_every_hop_is_upgraded_on_its_own(
    serve: Serve, public: Public, reply: Reply, redirect: Reply, tls_server: ssl.SSLContext
) -> None:
    def answer(request: Request) -> bytes:
        return redirect("http://a.sub.test/x") if request.headers["host"] == "good.test" else reply("there")

    client, _ = public(None, await serve(answer, tls=tls_server))
    response = await client.get("http://good.test/")
    assert [str(hop) for hop in response.hops] == ["https://good.test/", "https://a.sub.test/x"]


async def test_nothing_is_looked_up_for_a_host_that_is_not_admitted(public: Public) -> None:
    client, internet = public(None, None)
    with pytest.raises(DomainNotAllowed):
        await client.get("http://evil.test/")
    assert client.resolver.lookups == []
    assert internet.asked == []


@pytest.mark.parametrize(
    ("url", "names", "settings"),
    [
        ("http://good.test:443/", NAMES, {}),
        ("http://good.test/", {"good.test": ["127.0.0.9"]}, {"allowed_addresses": ["127.0.0.9/32"]}),
        ("http://good.test/", {"good.test": [PUBLIC]}, {"allowed_addresses": [f"{PUBLIC}/32"]}),
        ("http://127.0.0.9/", {}, {"allowed_addresses": ["127.0.0.9/32"], "rules": ["127.0.0.9"]}),
        ("http://good.test/", NAMES, {"allowed_ports": [80]}),
    ],
    ids=["another port", "a private host", "a listed host", "an address", "https is not allowed"],
)
async def test_only_a_public_host_on_its_own_port_is_upgraded(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, url: str, names: Any, settings: Any
) -> None:
    plain = await serve(reply("plain"))
    internet = Internet({80: plain.port, 443: plain.port})
    values: dict[str, Any] = {"allowed_addresses": [], **settings}
    client = fetcher(names, network=internet, **values)
    response = await client.get(url)
    assert response.body.data == b"plain"
    assert response.url.scheme == "http"
    assert len(internet.asked) == 1


async def test_https_is_never_asked_over_http(serve: Serve, public: Public, reply: Reply) -> None:
    plain = await serve(reply("plain"))
    client, internet = public(plain, None)
    with pytest.raises(Exception, match="could not be read"):
        await client.get("https://good.test/")
    assert [port for _, port in internet.asked] == [443]
    assert not plain.requests
