"""What is asked for besides the page itself: its Markdown version, and the consent of its site."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from glados.database import DatabaseService
from glados.web_fetch import WebFetchService
from glados.web_fetch.cache import Key
from glados.web_fetch.converter import Converter
from glados.web_fetch.errors import RobotsDisallowed
from glados.web_fetch.loader import Loader
from glados.web_fetch.pages import Content, Page, Source
from glados.web_fetch.urls import parse_url

if TYPE_CHECKING:
    from conftest import FakeResolver, Fetcher, MakeService, Reply, Request, Serve, Site

MARKDOWN = [("Content-Type", "text/markdown; charset=utf-8")]
NAMES = {name: ["127.0.0.1"] for name in ("good.test", "a.sub.test", "evil.test")}
PAGE = (
    '<html><head><title>Page</title><link rel="alternate" type="text/markdown" href="{}"></head><p>the page</p></html>'
)


def address(site: Site, path: str = "/") -> str:
    return f"http://good.test:{site.port}{path}"


async def test_markdown_is_preferred_where_markdown_is_wanted(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    def answer(request: Request) -> bytes:
        if request.headers["accept"].startswith("text/markdown,"):
            return reply("# From the server\n\nas *it* is", headers=[*MARKDOWN, ("Vary", "Accept")])
        return reply("<h1>A page</h1>")

    site = await serve(answer)
    result = await fetches.fetch(address(site), mode="markdown")
    assert (result.content, result.content_type) == ("# From the server\n\nas *it* is", "text/markdown")
    assert "A page" in (await fetches.fetch(address(site), mode="html")).content
    # Who wants the whole page wants what the server shows to browsers.
    assert "A page" in (await fetches.fetch(address(site), mode="markdown", content="page")).content


async def test_the_markdown_version_that_a_page_names_is_taken(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    def answer(request: Request) -> bytes:
        return reply("# In Markdown", headers=MARKDOWN) if request.target == "/doc.md" else reply(PAGE.format("doc.md"))

    site = await serve(answer)
    result = await fetches.fetch(address(site, "/doc"))
    assert (result.content, result.title) == ("# In Markdown", "Page")
    assert (result.final_url, result.content_type) == (address(site, "/doc.md"), "text/markdown")
    assert (await fetches.fetch(address(site, "/doc"))).cached
    assert [request.target for request in site.requests] == ["/doc", "/doc.md"]
    for ask in ("html", "links"):
        await fetches.fetch(address(site, "/doc"), mode=ask)
    await fetches.fetch(address(site, "/doc"), content="page")
    assert [request.target for request in site.requests].count("/doc.md") == 1


class Echo(Converter):
    """Says that every page has a Markdown version, at an address of which a converter is not to be believed."""

    alternate = ""

    async def convert(self, source: Source, mode: object, content: Content) -> Page:
        is_page = source.media.name == "text/html"
        return Page(source.data.decode(), alternate=self.alternate if is_page else None)


async def loaded(fetcher: Fetcher, url: str, alternate: str) -> str:
    converter = Echo(fetcher.settings)
    converter.alternate = alternate
    loader = Loader(fetcher.settings, fetcher.client, converter, None, fetcher.admit)
    return (await loader.load(Key(parse_url(url), "markdown", "main"), None)).page.text


@pytest.mark.parametrize(
    "alternate",
    [
        "http://a.sub.test:{port}/doc.md",
        "https://good.test:{port}/doc.md",
        "http://user@good.test:{port}/doc.md",
        "file:///etc/passwd",
        "http://127.0.0.1:{port}/doc.md",
        "/doc",
        "/html",
        "/pdf",
        "/missing",
        "/empty",
        "/moved",
        "/lie",
        "/broken",
        "/slow",
        "http://[",
    ],
)
async def test_what_is_no_markdown_of_the_same_host_is_not_taken(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, redirect: Reply, alternate: str
) -> None:
    over = asyncio.Event()
    answers = {
        "/doc": reply("the page"),
        "/doc.md": reply("# Markdown", headers=MARKDOWN),
        "/html": reply("<p>html</p>"),
        "/pdf": reply(b"%PDF", headers=[("Content-Type", "application/pdf")]),
        "/missing": reply("# Not here", "404 Not Found", headers=MARKDOWN),
        "/empty": reply(" \n", headers=MARKDOWN),
        "/moved": redirect("http://a.sub.test/doc.md"),
        "/lie": reply("<!doctype html><p>html</p>", headers=MARKDOWN),
        "/broken": reply(b"no gzip", headers=[*MARKDOWN, ("Content-Encoding", "gzip")]),
    }

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/slow":
            await over.wait()
        else:
            writer.write(answers[request.target])
            await writer.drain()

    site = await serve(answer)
    client = fetcher(NAMES, timeout=4.5)
    assert await loaded(client, address(site, "/doc"), alternate.format(port=site.port)) == "the page"
    over.set()
    assert {request.headers["host"] for request in site.requests} == {f"good.test:{site.port}"}


async def test_plain_text_is_taken_for_markdown(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    text = reply("# Markdown", headers=[("Content-Type", "text/plain")])
    site = await serve(lambda request: text if request.target == "/doc.md" else reply("the page"))
    assert await loaded(fetcher(NAMES), address(site, "/doc"), "/doc.md") == "# Markdown"


async def test_robots_txt_is_asked_only_where_the_operator_wants_it(
    database: DatabaseService, service: MakeService, resolver: FakeResolver, serve: Serve, reply: Reply
) -> None:
    robots = reply("User-agent: glados-agent\nDisallow: /private")
    site = await serve(lambda request: robots if request.target == "/robots.txt" else reply("<p>page</p>"))
    for setting in ("off", "obey"):
        fetches = service(database, resolver, robots=setting)
        await fetches.add_domain("good.test")
        assert (await fetches.fetch(address(site, "/public"))).content == "page"
        if setting == "off":
            assert (await fetches.fetch(address(site, "/private"))).content == "page"
            assert [request.target for request in site.requests] == ["/public", "/private"]
        else:
            with pytest.raises(RobotsDisallowed):
                await fetches.fetch(address(site, "/private"))
    assert [request.target for request in site.requests][2:] == ["/robots.txt", "/public"]
