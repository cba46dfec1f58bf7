"""What httpx is trusted with: it connects where it is told, and neither reads nor adds anything of its own."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glados.core import PluginError
from glados.web_fetch.errors import InvalidUrl
from glados.web_fetch.exchange import _address, build_request
from glados.web_fetch.transport import VettingTransport
from glados.web_fetch.urls import parse_url

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve

NAMES = {name: ["127.0.0.1"] for name in ("good.test", "xn--bcher-kva.test")}


class Connected(Exception):
    """Where the backend was told to connect."""


class Refusing(httpcore.AsyncNetworkBackend):
    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise Connected(host, port)


@pytest.mark.parametrize("url", ["http://good.test/", "https://good.test:8443/"])
async def test_every_connection_is_made_by_the_given_backend(url: str) -> None:
    async with VettingTransport(ssl.create_default_context(), Refusing()) as transport:
        with pytest.raises(Connected) as caught:
            await transport.handle_async_request(httpx.Request("GET", url))
    assert caught.value.args == ("good.test", 80 if url.startswith("http:") else 8443)


def test_httpx_still_keeps_its_pool_where_it_is_replaced() -> None:
    pool = getattr(httpx.AsyncHTTPTransport(), "_pool", None)
    assert isinstance(pool, httpcore.AsyncConnectionPool), (
        f"httpx {httpx.__version__} has moved its pool: change VettingTransport before this version is allowed"
    )


def test_an_httpx_that_keeps_its_pool_elsewhere_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "__init__", lambda *_, **__: None)
    with pytest.raises(PluginError, match=r"cannot be vetted: install httpx~=0\.28\.1"):
        VettingTransport(ssl.create_default_context(), Refusing())


TARGETS = {
    "": "/",
    "?": "/?",
    "?q": "/?q",
    "#f": "/",
    "/a?": "/a?",
    "/a??b=?": "/a??b=?",
    "/a?b#c?d": "/a?b",
    "/a#?b": "/a",
    "//x": "//x",
    "///": "///",
    "//evil.test/a": "//evil.test/a",
    "/a/../b": "/a/../b",
    "/./a/.": "/./a/.",
    "/..": "/..",
    "/../?a=/../b": "/../?a=/../b",
    "/%2e%2e/x": "/%2e%2e/x",
    "/.well-known/x": "/.well-known/x",
    "/a%20b?c%20d+e": "/a%20b?c%20d+e",
    "/é?ü=ß": "/%C3%A9?%C3%BC=%C3%9F",
    "/%": "/%",
    "/%zz%2?%": "/%zz%2?%",
    '/a|b^c`{d}"<e>?a|b^c`{d}"<e>': "/a%7Cb%5Ec%60%7Bd%7D%22%3Ce%3E?a%7Cb%5Ec%60%7Bd%7D%22%3Ce%3E",
    "/[x];b=c,d:e@f!$&'()*+~": "/[x];b=c,d:e@f!$&'()*+~",
    "/http://evil.test/": "/http://evil.test/",
}


@pytest.mark.parametrize("rest", TARGETS)
async def test_the_target_is_on_the_wire_as_it_was_checked(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, rest: str
) -> None:
    site = await serve(reply("x"))
    response = await fetcher(NAMES).get(f"http://good.test:{site.port}{rest}")
    assert site.requests[0].head.startswith(f"GET {TARGETS[rest]} HTTP/1.1\r\nHost: good.test:{site.port}\r\n")
    assert response.url.target == TARGETS[rest]


async def test_an_international_name_is_asked_for_by_its_a_label(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    site = await serve(reply("x"))
    client = fetcher(NAMES)
    await client.get(f"http://bücher.test:{site.port}/")
    assert client.resolver.lookups == ["xn--bcher-kva.test"]
    assert site.requests[0].headers["host"] == f"xn--bcher-kva.test:{site.port}"


VISIBLE = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="\\"), max_size=40)


@given(rest=st.sampled_from(["", "/", "//", "?", "/../"]).flatmap(lambda start: VISIBLE.map(lambda text: start + text)))
def test_httpx_reads_every_address_as_it_was_read_here(rest: str) -> None:
    for origin in ("http://good.test:80", "https://good.test:80", "http://127.0.0.1:8080", "https://[2001:db8::1]"):
        url = parse_url(origin + (rest if rest.startswith(("/", "?")) else "/" + rest))
        request = build_request(url, {"User-Agent": "Tester/2"})
        assert request.url.raw_host.decode() == url.host.name.strip("[]")
        assert request.extensions["target"] == url.target.encode()
        assert [name for name, _ in request.headers.raw] == [b"Host", b"User-Agent", b"Accept-Encoding"]
        assert request.headers["host"] == url.authority


@pytest.mark.parametrize(
    "other",
    [
        "https://good.test:8080/a",
        "http://evil.test:8080/a",
        "http://good.test/a",
        "http://good.test:8081/a",
        "http://x@good.test:8080/a",
        "http://good.test:8080/b",
    ],
)
def test_an_address_that_httpx_reads_differently_is_not_asked_for(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    url, misread = parse_url("http://good.test:8080/a"), httpx.URL(other)
    monkeypatch.setattr(httpx, "URL", lambda **_: misread)
    with pytest.raises(InvalidUrl, match="read in two ways"):
        _address(url)


def test_an_address_that_httpx_refuses_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> httpx.URL:
        raise httpx.InvalidURL("URL too long")

    monkeypatch.setattr(httpx, "URL", refuse)
    with pytest.raises(InvalidUrl, match="URL too long"):
        _address(parse_url("http://good.test/"))


@pytest.mark.parametrize("location", ["http://good.test:99999999/", "http://[::1", "http://[x]/", "http://\xfc\xad/"])
async def test_a_location_is_read_by_us_alone(
    serve: Serve, fetcher: type[Fetcher], redirect: Reply, location: str
) -> None:
    site = await serve(redirect(location))
    with pytest.raises(InvalidUrl):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/")


async def test_hops_to_one_host_share_no_cookie(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    def answer(request: Request) -> bytes:
        if request.target == "/3":
            return reply("x")
        cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Domain=good.test; Path=/; Max-Age=99")]
        return reply(status="302 Found", headers=[*cookies, ("Location", f"/{int(request.target[1:]) + 1}")])

    site = await serve(answer)
    await fetcher(NAMES).get(f"http://good.test:{site.port}/1")
    assert [request.target for request in site.requests] == ["/1", "/2", "/3"]
    assert {name for request in site.requests for name in request.headers} == {
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
    }
