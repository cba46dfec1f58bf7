"""Everything that can be wrong with a fetch: each has a type and a code of its own, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from sqlmodel import select

from glados.core import ToolError
from glados.database import DatabaseService
from glados.web_fetch import errors
from glados.web_fetch.tables import AllowedDomain

if TYPE_CHECKING:
    from conftest import FakeResolver, MakeService, Reply, Request, Serve

# What is fetched; {site} answers over http, {tls} over https, {closed} and {full} are ports where nobody does.
FAILURES: dict[str, tuple[str, type[ToolError], str]] = {
    "no url": ("not a url", errors.InvalidUrl, "'not a url' cannot be fetched: it"),
    "another scheme": ("ftp://good.test/", errors.InvalidUrl, "does not begin with 'https://'"),
    "a bad host": ("http://good..test/", errors.InvalidUrl, "empty part between dots"),
    "credentials": ("http://me:pw@good.test/", errors.InvalidUrl, "user name or password"),
    "an unlisted domain": ("http://evil.test/", errors.DomainNotAllowed, "web-fetch.add-domain"),
    "an address": ("http://10.0.0.1/", errors.AddressNotAllowed, "IP address"),
    "a private host": ("http://inside.test/", errors.AddressNotAllowed, "10.0.0.1 is not public"),
    "another port": ("http://public.test:25/", errors.PortNotAllowed, "Port 25"),
    "no such name": ("http://nowhere.test/", errors.DnsFailed, "check its spelling"),
    "refused": ("http://good.test:{closed}/", errors.ConnectFailed, "try again later"),
    "no connection in time": ("http://good.test:{full}/", errors.FetchTimeout, "take a connection within 0.2 s"),
    "no page in time": ("http://good.test:{site}/silent", errors.FetchTimeout, "deliver the page within 1 s"),
    "no certificate": ("https://good.test:{tls}/", errors.TlsFailed, "self-signed certificate"),
    "a line end": ("https://good.test:{site}/\n", errors.InvalidUrl, "U+000A"),
    "hangs up": ("http://good.test:{site}/nothing", errors.ConnectFailed, "could not be read"),
    "an error status": ("http://good.test:{site}/404", errors.HttpStatus, "answered 404 Not Found"),
    "a redirect loop": ("http://good.test:{site}/loop", errors.TooManyRedirects, "more than 5 times"),
    "a redirect off the list": ("http://good.test:{site}/away", errors.DomainNotAllowed, "redirects to evil.test"),
    "a redirect inside": ("http://good.test:{site}/inside", errors.AddressNotAllowed, "169.254.169.254"),
    "a wrong type": ("http://good.test:{site}/pdf", errors.UnsupportedType, "application/pdf"),
    "a bomb": ("http://good.test:{site}/bomb", errors.TooLarge, "inflates to far more"),
    "broken compression": ("http://good.test:{site}/gzip", errors.DecodeFailed, "could not be decoded"),
    "unknown compression": ("http://good.test:{site}/brotli", errors.DecodeFailed, "'br'"),
    "too complex": ("http://good.test:{site}/deep", errors.TooComplex, ""),
    "not for programs": ("http://good.test:{site}/private", errors.RobotsDisallowed, "does not allow"),
    "nobody knows for whom": ("http://odd.test:{site}/", errors.RobotsUnreachable, "answered 503"),
}
ELSEWHERE = {errors.InvalidDomain, errors.NoFreePlace, errors.ProxyFailed}


@pytest.fixture
def full_port() -> Iterator[int]:
    """A listener whose queue is full leaves every further SYN without an answer."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def replies(reply: Reply, redirect: Reply) -> dict[str, bytes]:
    packed = ("Content-Encoding", "gzip")
    return {
        "/nothing": b"",
        "/404": reply("x", status="404 Not Found"),
        "/loop": redirect("/loop"),
        "/away": redirect("http://evil.test/"),
        "/inside": redirect("http://169.254.169.254/latest/meta-data/"),
        "/pdf": reply(b"%PDF", headers=[("Content-Type", "application/pdf")]),
        "/bomb": reply(gzip.compress(b"\0" * 20_000_000), headers=[packed]),
        "/gzip": reply(gzip.compress(b"<p>words</p>" * 99)[:-20], headers=[packed]),
        "/brotli": reply(b"x", headers=[("Content-Encoding", "br")]),
        "/deep": reply("<div>" * 100_000),
    }


@pytest.mark.parametrize("name", FAILURES)
async def test_each_failure_is_one_sentence_to_act_on_and_leaves_nothing_behind(
    database: DatabaseService,
    service: MakeService,
    resolver: FakeResolver,
    serve: Serve,
    reply: Reply,
    redirect: Reply,
    tls_server: ssl.SSLContext,
    full_port: int,
    name: str,
) -> None:
    over, answers = asyncio.Event(), replies(reply, redirect)

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/silent":
            await over.wait()
        elif request.target == "/robots.txt":
            odd = request.headers["host"].startswith("odd.test")
            writer.write(reply(status="503 Busy") if odd else reply("User-agent: *\nDisallow: /private"))
        else:
            writer.write(answers[request.target])
        with contextlib.suppress(ConnectionError):
            await writer.drain()

    ports = {"site": (await serve(answer)).port, "tls": (await serve(reply("x"), tls=tls_server)).port}
    url, kind, words = FAILURES[name]
    resolver.names |= {"odd.test": ["127.0.0.1"], "inside.test": ["10.0.0.1"], "public.test": ["93.184.215.14"]}
    obeys = "obey" if issubclass(kind, errors.RobotsDisallowed | errors.RobotsUnreachable) else "off"
    timeout, seconds = 1 if name == "no page in time" else 20, 0.2 if name == "too complex" else 5
    connecting = 0.2 if name == "no connection in time" else 5
    fetches = service(
        database, resolver, timeout=timeout, connect_timeout=connecting, convert_seconds=seconds, robots=obeys
    )
    for domain in ("good.test", "odd.test", "inside.test", "public.test", "nowhere.test"):
        await fetches.add_domain(domain)
    rows = await stored(database)
    for _ in range(2):
        with pytest.raises(ToolError) as caught:
            await fetches.fetch(url.format(**ports, closed=1, full=full_port))
        assert type(caught.value) is kind
        assert words in caught.value.message
        assert caught.value.message.endswith(".")
        assert "\n" not in caught.value.message
    over.set()
    assert len(fetches._cache) == 0
    assert await stored(database) == rows


async def stored(database: DatabaseService) -> list[str]:
    async with database.read() as session:
        return sorted(row.domain for row in await session.exec(select(AllowedDomain)))


def test_the_table_has_every_error_that_there_is() -> None:
    every: set[Any] = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, ToolError) and value is not ToolError
    }
    assert every - {kind for _, kind, _ in FAILURES.values()} == ELSEWHERE
