"""Redirects: every hop meets the same checks as the first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from glados.web_fetch.errors import (
    AddressNotAllowed,
    ConnectFailed,
    DomainNotAllowed,
    HttpStatus,
    InvalidUrl,
    TooManyRedirects,
)

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve

NAMES = {name: ["127.0.0.1"] for name in ("good.test", "a.sub.test", "evil.test")}


@pytest.mark.hostile("RED-001")
async def test_a_redirect_off_the_allowlist_names_the_host_and_fetches_nothing(
    serve: Serve, fetcher: type[Fetcher], redirect: Reply
) -> None:
    site = await serve(redirect("https://evil.test/"))
    client = fetcher(NAMES)
    with pytest.raises(DomainNotAllowed) as caught:
        await client.get(f"http://good.test:{site.port}/")
    assert caught.value.data == {"domain": "evil.test"}
    assert caught.value.message.startswith(
        "good.test redirects to evil.test, which is not on the allowlist: ask the user"
    )
    assert client.resolver.lookups == ["good.test"]


@pytest.mark.hostile("RED-002", "RED-003", "RED-008")
@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://127.0.0.2:8080/", AddressNotAllowed),
        ("http://169.254.169.254/", AddressNotAllowed),
        ("http://localhost/", AddressNotAllowed),
        ("https://good.test@evil.test/", InvalidUrl),
        ("file:///etc/passwd", InvalidUrl),
        ("http://good.test\\@evil.test/", InvalidUrl),
    ],
)
async def test_a_redirect_inside_or_to_an_unclear_address_is_refused(
    serve: Serve, fetcher: type[Fetcher], redirect: Reply, location: str, error: type[Exception]
) -> None:
    site = await serve(redirect(location))
    with pytest.raises(error):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/")
    assert len(site.requests) == 1


@pytest.mark.hostile("RED-009", "RED-019")
async def test_each_hop_is_looked_up_and_vetted(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, redirect: Reply
) -> None:
    def answer(request: Request) -> bytes:
        if request.headers["host"].startswith("good.test"):
            return redirect(f"http://a.sub.test:{site.port}/there", "307 Temporary Redirect")
        return reply("arrived")

    site = await serve(answer)
    client = fetcher(NAMES)
    response = await client.get(f"http://good.test:{site.port}/")
    assert response.body.data == b"arrived"
    assert str(response.url) == f"http://a.sub.test:{site.port}/there"
    assert client.resolver.lookups == ["good.test", "a.sub.test"]
    assert [request.head.split(" ")[0] for request in site.requests] == ["GET", "GET"]


@pytest.mark.hostile("RED-011")
async def test_a_loop_ends(serve: Serve, fetcher: type[Fetcher], redirect: Reply) -> None:
    site = await serve(lambda request: redirect("/b" if request.target == "/a" else "/a"))
    with pytest.raises(TooManyRedirects):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/a")
    assert len(site.requests) == 6


async def test_the_number_of_redirects_is_a_setting(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, redirect: Reply
) -> None:
    site = await serve(lambda request: reply("x") if request.target == "/b" else redirect("/b"))
    assert (await fetcher(NAMES, max_redirects=1).get(f"http://good.test:{site.port}/a")).status == 200
    with pytest.raises(TooManyRedirects):
        await fetcher(NAMES, max_redirects=0).get(f"http://good.test:{site.port}/a")


@pytest.mark.hostile("RED-012")
async def test_a_redirect_without_a_location_is_an_error_status(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    site = await serve(reply(status="301 Moved Permanently"))
    with pytest.raises(HttpStatus, match="301 Moved Permanently"):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/")


@pytest.mark.hostile("RED-013")
async def test_two_different_locations_are_refused(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    both = [("Location", "/a"), ("Location", "/b")]
    site = await serve(reply(status="302 Found", headers=both))
    with pytest.raises(InvalidUrl, match="two different addresses"):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/")
    assert len(site.requests) == 1


@pytest.mark.hostile("RED-014")
@pytest.mark.parametrize("value", [b"/a\x00b", b"/a\rb"])
async def test_a_location_with_control_characters_is_refused(
    serve: Serve, fetcher: type[Fetcher], value: bytes
) -> None:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: " + value + b"\r\nContent-Length: 0\r\n\r\n")

    site = await serve(answer)
    with pytest.raises(ConnectFailed):
        await fetcher(NAMES).get(f"http://good.test:{site.port}/")


@pytest.mark.hostile("RED-017", "RED-018")
async def test_neither_cookies_nor_credentials_go_on_to_the_next_hop(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    def answer(request: Request) -> bytes:
        if request.target == "/end":
            return reply("x")
        locations = {"/": "/again", "/again": f"http://a.sub.test:{site.port}/end"}
        cookies = [("Set-Cookie", "id=1; Path=/"), ("Set-Cookie", "all=1; Domain=test")]
        asks = ("WWW-Authenticate", "Basic realm=x")
        return reply(status="302 Found", headers=[("Location", locations[request.target]), asks, *cookies])

    site = await serve(answer)
    client = fetcher(NAMES)
    for _ in range(2):  # nothing is kept for the next fetch either
        await client.get(f"http://good.test:{site.port}/")
    assert [request.target for request in site.requests] == ["/", "/again", "/end"] * 2
    # There is no way to give a fetch credentials in the first place.
    assert all("cookie" not in request.headers and "authorization" not in request.headers for request in site.requests)


@pytest.mark.hostile("RED-020", "RED-021", "RED-023")
async def test_refresh_and_hints_are_not_followed(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: <http://127.0.0.1/>; rel=preload\r\n\r\n"
    page = '<meta http-equiv="refresh" content="0;url=http://evil.test/">'
    headers = [("Refresh", "0;url=http://evil.test/"), ("Link", "<http://127.0.0.1/>; rel=preload")]
    site = await serve(hints + reply(page, headers=headers))
    client = fetcher(NAMES)
    assert (await client.get(f"http://good.test:{site.port}/")).body.data == page.encode()
    assert client.resolver.lookups == ["good.test"]
    assert len(site.requests) == 1
