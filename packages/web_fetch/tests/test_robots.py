"""robots.txt by RFC 9309: what it says, and what becomes of a site that cannot be asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

from glados.web_fetch.errors import AddressNotAllowed, DnsFailed, RobotsDisallowed, RobotsUnreachable
from glados.web_fetch.robots import KEPT_FOR, MAX_BYTES, MAX_SITES, Robots, may_fetch, parse_robots
from glados.web_fetch.urls import Url, parse_url

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve

AGENT = "GLaDOS-Agent/1.0"
NAMES = {name: ["127.0.0.1"] for name in ("good.test", "a.sub.test", "evil.test")}


def allowed(robots: str, target: str) -> bool:
    return may_fetch(parse_robots(robots, AGENT), target)


@pytest.mark.parametrize(
    ("rules", "target", "expected"),
    [
        ("", "/", True),
        ("Disallow: /", "/x", False),
        ("Disallow:", "/x", True),
        ("Disallow: /a", "/a", False),
        ("Disallow: /a", "/abc", False),
        ("Disallow: /a/", "/a", True),
        ("Disallow: /A", "/a", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/c", False),
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Disallow: /*.php$", "/x/y.php", False),
        ("Disallow: /*.php$", "/x/y.php?z", True),
        ("Disallow: /*.php", "/x/y.php?z", False),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: *b*c", "/abxc", False),
        ("Disallow: /ab*b$", "/ab", True),
        ("Disallow: /?q=", "/?q=1", False),
        ("Disallow: /k%C3%A4se", "/k%c3%a4se", False),
        ("Disallow: /käse", "/k%C3%A4se", False),
        ("Disallow: /%61", "/a", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /", "/robots.txt", True),
        ("  disallow :  /a   # because", "/a", False),
        ("Disallow /a", "/a", True),
        ("Crawl-delay: 10\nDisallow: /a", "/a", False),
        ("Sitemap: https://good.test/map\nDisallow: /a", "/a", False),
    ],
)
def test_the_longest_rule_decides(rules: str, target: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}", target) is expected


@pytest.mark.parametrize(
    ("robots", "expected"),
    [
        ("User-agent: other\nDisallow: /", True),
        ("User-agent: glados-agent\nDisallow: /", False),
        ("User-agent: GLaDOS-Agent/2.0\nDisallow: /", False),
        ("User-agent: GLaDOS\nDisallow: /", True),
        ("User-agent: *\nDisallow: /\nUser-agent: glados-agent\nDisallow: /b", True),
        ("User-agent: *\nDisallow: /\nUser-agent: glados-agent\nDisallow:", True),
        ("User-agent: other\nUser-agent: glados-agent\nDisallow: /a", False),
        (
            "User-agent: glados-agent\nDisallow: /x\nUser-agent: *\nAllow: /\nUser-agent: glados-agent\nDisallow: /a",
            False,
        ),
        ("Disallow: /a", True),
        ("\ufeffUser-agent: *\r\nDisallow: /a\r\n", False),
        ("User-agent: other\nSitemap: /x\nUser-agent: *\nDisallow: /a", False),
    ],
)
def test_the_group_that_names_the_program_counts(robots: str, expected: bool) -> None:
    assert allowed(robots, "/a") is expected


def test_a_hostile_pattern_takes_no_time() -> None:
    assert allowed("User-agent: *\nDisallow: /" + "*a" * 200_000 + "b", "/" + "a" * 4000)


def test_a_group_of_many_names_has_each_rule_once() -> None:
    for name in ("*", "glados-agent", "other"):
        rules = parse_robots(f"User-agent: {name}\n" * 15_000 + "Allow: /\n" * 15_000, AGENT)
        assert len(rules) == (0 if name == "other" else 15_000)


class Site:
    """A client that asks robots.txt of whatever it fetches."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher
        self.now = 0.0
        self.robots = Robots(fetcher.client, AGENT, fetcher.settings.timeout, lambda: self.now)

    async def get(self, url: str) -> bytes:
        async def consent(url: Url) -> None:
            await self.robots.check(url, self.fetcher.admit)

        response = await self.fetcher.client.get(parse_url(url), self.fetcher.admit, None, consent)
        return response.body.data


async def test_a_page_that_the_site_does_not_want_fetched_is_not_asked_for(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    robots = reply("User-agent: *\nDisallow: /private", headers=[("Content-Type", "text/plain")])
    site = await serve(lambda request: robots if request.target == "/robots.txt" else reply("page"))
    client = Site(fetcher(NAMES))
    assert await client.get(f"http://good.test:{site.port}/public") == b"page"
    with pytest.raises(RobotsDisallowed) as caught:
        await client.get(f"http://good.test:{site.port}/private/x")
    assert caught.value.message == (
        f"The robots.txt of good.test does not allow 'http://good.test:{site.port}/private/x' to programs:"
        " use another site, or ask the user to open the page."
    )
    assert [request.target for request in site.requests] == ["/robots.txt", "/public"]


async def test_every_hop_asks_its_own_site(serve: Serve, fetcher: type[Fetcher], reply: Reply, redirect: Reply) -> None:
    robots = reply("User-agent: *\nDisallow: /")
    other = await serve(lambda request: robots if request.target == "/robots.txt" else reply("page"))
    nothing = reply("none", status="404 Not Found")
    first = await serve(
        lambda request: nothing if request.target == "/robots.txt" else redirect(f"http://a.sub.test:{other.port}/x")
    )
    with pytest.raises(RobotsDisallowed, match=r"a\.sub\.test"):
        await Site(fetcher(NAMES)).get(f"http://good.test:{first.port}/")
    assert [request.target for request in other.requests] == ["/robots.txt"]


@pytest.mark.parametrize("status", ["401 No", "403 No", "404 No", "410 No", "429 No"])
async def test_a_site_without_a_robots_txt_allows_everything(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, status: str
) -> None:
    site = await serve(lambda request: reply("x", status=status) if request.target == "/robots.txt" else reply("page"))
    assert await Site(fetcher(NAMES)).get(f"http://good.test:{site.port}/") == b"page"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "answered 503"),
        (b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", "answered 301"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/robots.txt\r\nContent-Length: 0\r\n\r\n",
            "domain_not_allowed",
        ),
        (b"HTTP/1.1 302 Found\r\nLocation: /robots.txt\r\nContent-Length: 0\r\n\r\n", "too_many_redirects"),
        (b"nonsense\r\n\r\n", "connect_failed"),
    ],
)
async def test_a_site_that_cannot_be_asked_allows_nothing_and_is_asked_again(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, answer: bytes, reason: str
) -> None:
    site = await serve(lambda request: answer if request.target == "/robots.txt" else reply("page"))
    client = Site(fetcher(NAMES))
    for _ in range(2):
        before = len(site.requests)
        with pytest.raises(RobotsUnreachable, match=reason):
            await client.get(f"http://good.test:{site.port}/")
        assert len(site.requests) > before
    assert {request.target for request in site.requests} == {"/robots.txt"}


async def test_a_host_that_cannot_be_reached_at_all_is_told_as_such(fetcher: type[Fetcher]) -> None:
    names = {"good.test": ["10.0.0.1"]}
    for client, error in ((fetcher({}), DnsFailed), (fetcher(names), AddressNotAllowed)):
        with pytest.raises(error):
            await Site(client).get("http://good.test/")


async def test_a_site_that_never_answers_has_a_share_of_the_time(serve: Serve, fetcher: type[Fetcher]) -> None:
    done = asyncio.Event()

    async def silence(_: Request, writer: asyncio.StreamWriter) -> None:
        await done.wait()

    site = await serve(silence)
    with pytest.raises(RobotsUnreachable, match="timeout"):
        await Site(fetcher(NAMES, timeout=0.6)).get(f"http://good.test:{site.port}/")
    done.set()


async def test_what_a_site_wants_is_kept_for_an_hour(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("User-agent: *\nDisallow: /private"))
    client = Site(fetcher(NAMES))
    for now, asked in ((0, 1), (KEPT_FOR - 1, 1), (KEPT_FOR, 2)):
        client.now = now
        await client.get(f"http://good.test:{site.port}/")
        assert [request.target for request in site.requests].count("/robots.txt") == asked


async def test_only_so_many_sites_are_remembered_and_only_so_much_of_each_is_read(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    late = "#" * (MAX_BYTES - 10) + "\nUser-agent: *\nDisallow: /"
    site = await serve(reply(late))
    client = Site(fetcher(NAMES))
    for number in range(MAX_SITES):
        client.robots._sites[f"http://{number}.test/robots.txt"] = (KEPT_FOR, ())
    assert await client.get(f"http://good.test:{site.port}/") == late.encode()
    assert len(client.robots._sites) == MAX_SITES
    assert "http://0.test/robots.txt" not in client.robots._sites


async def test_rules_are_read_and_asked_off_the_event_loop(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[threading.Thread]()

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: object) -> object:
            threads.append(threading.current_thread())
            return function(*args)

        return call

    for function in (parse_robots, may_fetch):
        monkeypatch.setattr(f"glados.web_fetch.robots.{function.__name__}", noted(function))
    site = await serve(reply("User-agent: *\nAllow: /"))
    await Site(fetcher(NAMES)).get(f"http://good.test:{site.port}/")
    assert len(threads) == 2
    assert threading.current_thread() not in threads
