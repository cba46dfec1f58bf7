"""What is kept of a page, for how long, and who is asked again; the servers count what reaches them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from glados.database import DatabaseService
from glados.web_fetch import WebFetchService
from glados.web_fetch.errors import DomainNotAllowed, HttpStatus

if TYPE_CHECKING:
    from conftest import Clock, FakeResolver, MakeService, Reply, Request, Serve, Site


class Versions:
    """A page whose text a test changes, with or without a mark of its version."""

    def __init__(self, reply: Reply, **headers: str) -> None:
        self.reply = reply
        self.text = "one"
        self.headers = headers
        self.mark = ""

    def __call__(self, request: Request) -> bytes:
        if self.mark and self.mark in (request.headers.get("if-none-match"), request.headers.get("if-modified-since")):
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        return self.reply(f"<p>{self.text}</p>", headers=[(name, value) for name, value in self.headers.items()])


def address(site: Site, path: str = "/") -> str:
    return f"http://good.test:{site.port}{path}"


@pytest.mark.parametrize(("header", "question"), [("ETag", "if-none-match"), ("Last-Modified", "if-modified-since")])
async def test_an_old_copy_is_kept_where_the_server_says_that_it_has_not_changed(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock, header: str, question: str
) -> None:
    mark = 'W/"1"' if header == "ETag" else "Wed, 18 Nov 2026 10:00:00 GMT"
    page = Versions(reply, **{header: mark})
    page.mark = mark
    site = await serve(lambda request: page(request))
    assert not (await fetches.fetch(address(site))).cached
    assert question not in site.requests[0].headers
    clock.now += 301
    again = await fetches.fetch(address(site))
    assert (again.content, again.cached, again.status) == ("one", True, 200)
    assert site.requests[1].headers[question] == mark
    clock.now += 299  # from the answer on it is fresh again
    assert (await fetches.fetch(address(site))).cached
    assert len(site.requests) == 2
    page.mark, page.text = "other", "two"
    clock.now += 2
    changed = await fetches.fetch(address(site))
    assert (changed.content, changed.cached) == ("two", False)


async def test_refresh_asks_the_server_at_once(fetches: WebFetchService, serve: Serve, reply: Reply) -> None:
    page = Versions(reply, ETag='"1"')
    site = await serve(lambda request: page(request))
    await fetches.fetch(address(site))
    page.text = "two"
    assert (await fetches.fetch(address(site))).content == "one"
    fresh = await fetches.fetch(address(site), refresh=True)
    assert (fresh.content, fresh.cached) == ("two", False)
    assert (await fetches.fetch(address(site))).content == "two"
    page.mark = '"1"'
    same = await fetches.fetch(address(site), refresh=True)
    assert (same.content, same.cached) == ("two", True)
    assert len(site.requests) == 3


async def test_who_reads_on_reads_in_the_copy_that_was_begun(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock
) -> None:
    page = Versions(reply)
    page.text = "old words " * 30
    site = await serve(lambda request: page(request))
    first = await fetches.fetch(address(site), max_characters=100)
    page.text = "new words " * 30
    clock.now += 100_000
    second = await fetches.fetch(address(site), max_characters=100, offset=first.next_offset or 0)
    assert second.content.startswith("old words")
    assert second.cached
    assert len(site.requests) == 1
    assert (await fetches.fetch(address(site), max_characters=100)).content.startswith("new words")


@pytest.mark.parametrize("mark", ["", '"1"'])
async def test_who_reads_on_reads_in_the_copy_that_was_begun_also_when_others_have_a_newer_one(
    fetches: WebFetchService, serve: Serve, reply: Reply, mark: str
) -> None:
    page = Versions(reply, **({"ETag": mark} if mark else {}))
    page.text = "old words " * 30
    site = await serve(lambda request: page(request))
    begun = await fetches.fetch(address(site), max_characters=100)
    page.mark = mark
    await fetches.fetch(address(site), max_characters=50, refresh=True)  # it is the same still
    page.text, page.mark = "new and more words " * 30, ""
    renewed = await fetches.fetch(address(site), max_characters=100, refresh=True)
    assert begun.next_offset != renewed.next_offset
    for first, word in ((begun, "old"), (renewed, "new"), (begun, "old")):
        pieces = [first]
        while (offset := pieces[-1].next_offset) is not None:
            pieces.append(await fetches.fetch(address(site), max_characters=100, offset=offset))
        whole = "".join(piece.content for piece in pieces)
        assert set(whole.split()) - {"words", "and", "more"} == {word}
        assert len(whole) == first.content_length
    assert len(site.requests) == 3


async def test_an_offset_without_a_copy_fetches_the_page(fetches: WebFetchService, serve: Serve, reply: Reply) -> None:
    site = await serve(reply("<p>one two three</p>"))
    result = await fetches.fetch(address(site), offset=4)
    assert (result.content, result.cached, result.offset) == ("two three", False, 4)
    beyond = await fetches.fetch(address(site), offset=1000)
    assert (beyond.content, beyond.has_more, beyond.content_length) == ("", False, 13)


async def test_each_way_to_ask_has_its_own_copy(fetches: WebFetchService, serve: Serve, reply: Reply) -> None:
    site = await serve(lambda request: reply(f"<p>{request.target}</p>", headers=[("Vary", "Accept")]))
    asks: list[dict[str, Any]] = [
        {"mode": "html"},
        {"mode": "links"},
        {"mode": "markdown"},
        {"mode": "markdown", "content": "page"},
    ]
    for _ in range(2):
        for ask in asks:
            await fetches.fetch(address(site), **ask)
    assert len(site.requests) == 4
    await fetches.fetch(address(site, "/?a"))
    await fetches.fetch(address(site), max_characters=5)
    assert len(site.requests) == 5


@pytest.mark.parametrize("value", ["no-store", "private, No-Store", "no-store=1, no-store"])
async def test_what_the_server_wants_not_stored_is_not(
    fetches: WebFetchService, serve: Serve, reply: Reply, value: str
) -> None:
    site = await serve(reply("<p>x</p>", headers=[("Cache-Control", value), ("ETag", '"1"')]))
    for _ in range(2):
        assert not (await fetches.fetch(address(site))).cached
    assert len(site.requests) == 2
    assert "if-none-match" not in site.requests[1].headers


async def test_a_copy_that_the_server_wants_stored_no_longer_is_given_once_more(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock
) -> None:
    def answer(request: Request) -> bytes:
        if "if-none-match" in request.headers:
            return b"HTTP/1.1 304 Not Modified\r\nCache-Control: no-store\r\n\r\n"
        return reply("<p>x</p>", headers=[("ETag", '"1"')])

    site = await serve(answer)
    cached = []
    for _ in range(3):
        cached.append((await fetches.fetch(address(site))).cached)
        clock.now += 301
    assert cached == [False, True, False]


async def test_the_cache_can_be_turned_off(
    database: DatabaseService, service: MakeService, resolver: FakeResolver, serve: Serve, reply: Reply
) -> None:
    fetches = service(database, resolver, cache_ttl=0)
    await fetches.add_domain("good.test")
    site = await serve(reply("<p>x</p>", headers=[("ETag", '"1"')]))
    for _ in range(2):
        assert not (await fetches.fetch(address(site))).cached
    assert len(site.requests) == 2


async def test_an_error_is_never_kept_and_costs_nothing_that_is(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock
) -> None:
    page, broken = reply("<p>" + "word " * 50 + "</p>"), reply("x", status="500 Oops")
    answers = iter([broken, page, broken, page])
    site = await serve(lambda _: next(answers))
    with pytest.raises(HttpStatus):
        await fetches.fetch(address(site))
    assert not (await fetches.fetch(address(site), max_characters=20)).cached
    clock.now += 301
    with pytest.raises(HttpStatus):
        await fetches.fetch(address(site))
    assert (await fetches.fetch(address(site), offset=20)).cached
    assert not (await fetches.fetch(address(site))).cached


async def test_a_removed_domain_is_refused_at_once_although_its_page_is_kept(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    site = await serve(reply("<p>x</p>"))
    await fetches.fetch(address(site))
    await fetches.remove_domain("good.test")
    asks: list[dict[str, Any]] = [{}, {"offset": 1}, {"refresh": True}]
    for ask in asks:
        with pytest.raises(DomainNotAllowed):
            await fetches.fetch(address(site), **ask)
    await fetches.add_domain("good.test")
    assert (await fetches.fetch(address(site))).cached
    assert len(site.requests) == 1


async def test_the_hosts_of_redirects_have_to_be_allowed_still(
    fetches: WebFetchService, serve: Serve, reply: Reply, redirect: Reply
) -> None:
    def answer(request: Request) -> bytes:
        moved = request.headers["host"].startswith("good.test")
        return redirect(f"http://other.test:{site.port}/there") if moved else reply("<p>there</p>")

    site = await serve(answer)
    await fetches.add_domain("other.test")
    result = await fetches.fetch(address(site))
    assert (result.domain, result.final_url) == ("good.test", f"http://other.test:{site.port}/there")
    assert (await fetches.fetch(address(site))).cached
    await fetches.remove_domain("other.test")
    with pytest.raises(DomainNotAllowed, match=r"good\.test redirects to other\.test"):
        await fetches.fetch(address(site))


async def test_a_moved_page_is_revalidated_where_it_is(
    fetches: WebFetchService, serve: Serve, reply: Reply, redirect: Reply, clock: Clock
) -> None:
    page = Versions(reply, ETag='"1"')
    page.mark = '"1"'
    site = await serve(lambda request: page(request) if request.target == "/new" else redirect("/new"))
    await fetches.fetch(address(site))
    clock.now += 301
    assert (await fetches.fetch(address(site))).cached
    assert ["if-none-match" in request.headers for request in site.requests] == [False, False, False, True]


async def test_the_same_page_for_many_at_once_is_fetched_once(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await answered.wait()
        writer.write(reply("<p>x</p>"))
        await writer.drain()

    site = await serve(answer)
    tasks = [asyncio.create_task(fetches.fetch(address(site))) for _ in range(10)]
    await asked.wait()
    tasks[0].cancel()
    tasks[5].cancel()
    answered.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results].count(True) == 2
    assert {result.content for result in results if not isinstance(result, BaseException)} == {"x"}
    assert len(site.requests) == 1


async def test_links_are_paged_without_losing_or_repeating_one(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    page = "".join(f'<a href="/{n}">}}, {{"text": "link {n}"</a>' for n in range(100))
    site = await serve(reply(page))
    found, offset, count = list[dict[str, str]](), 0, 0
    while True:
        result = await fetches.fetch(address(site), mode="links", max_characters=500, offset=offset)
        assert len(result.content) <= 500
        found += json.loads(result.content)
        count += 1
        if result.next_offset is None:
            break
        offset = result.next_offset
    assert found == [{"text": f'}}, {{"text": "link {n}"', "href": address(site, f"/{n}")} for n in range(100)]
    assert count > 10
    assert len(site.requests) == 1


async def test_the_links_of_a_feed_are_paged_like_those_of_a_page(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    entries = "".join(f"<item><title>Item {n}</title><link>https://good.test/{n}</link></item>" for n in range(50))
    feed = f'<rss version="2.0"><channel><title>News</title><link>https://good.test/</link>{entries}</channel></rss>'
    site = await serve(reply(feed, headers=[("Content-Type", "application/rss+xml")]))
    first = await fetches.fetch(address(site), mode="links", max_characters=300)
    rest = await fetches.fetch(address(site), mode="links", offset=first.next_offset or 0)
    hrefs = [link["href"] for piece in (first, rest) for link in json.loads(piece.content)]
    assert hrefs[-50:] == [f"https://good.test/{n}" for n in range(50)]
    assert first.has_more
