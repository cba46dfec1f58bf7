"""The fetch pipeline's acceptance criteria, AC2.1 to AC2.9, each as a test that begins with its name."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest

from glados.database import DatabaseService
from glados.web_fetch import WebFetchService
from glados.web_fetch.errors import FetchTimeout, UnsupportedType

if TYPE_CHECKING:
    from conftest import Clock, FakeResolver, MakeService, Reply, Request, Serve

WORDS = "The enrichment centre reminds you that the cake is not an obligation, and that testing goes on. " * 4
ARTICLE = f"""<!doctype html><html><head><title>The article</title></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Our shop</a></li></ul></nav>
<aside class="sidebar"><p>Subscribe to the newsletter</p></aside>
<div class="ad">Buy potatoes now</div>
<main><article><h1>The article</h1><p>{WORDS}</p><h2>Details</h2><p>{WORDS}<a href="/more">More of it</a></p>
<ul><li>first thing</li><li>second thing</li></ul>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>cube</td><td>1 m</td></tr></table>
<p>{WORDS}</p></article></main>
<footer><p>All rights reserved, imprint, cookies</p></footer></body></html>"""


async def test_ac2_1_headings_links_lists_and_tables_are_markdown(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    site = await serve(reply(ARTICLE))
    content = (await fetches.fetch(f"http://good.test:{site.port}/a")).content
    assert "## Details" in content
    assert re.search(r"\[More of it\]\(\S*/more\)", content)
    assert "first thing" in content
    assert [line for line in content.splitlines() if line.strip().startswith(("*", "-")) and "first thing" in line]
    assert "| cube | 1 m |" in content


async def test_ac2_2_the_article_is_extracted_from_a_noisy_page(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    site = await serve(reply(ARTICLE))
    result = await fetches.fetch(f"http://good.test:{site.port}/")
    assert result.title == "The article"
    assert "the cake is not an obligation" in result.content
    for noise in ("Our shop", "newsletter", "potatoes", "imprint"):
        assert noise not in result.content
    whole = await fetches.fetch(f"http://good.test:{site.port}/", content="page")
    assert "Our shop" in whole.content


async def test_ac2_3_a_long_page_is_read_piece_by_piece(fetches: WebFetchService, serve: Serve, reply: Reply) -> None:
    page = "".join(f"<p>Paragraph {number} with a few words.</p>" for number in range(1000))
    site = await serve(reply(page))
    url = f"http://good.test:{site.port}/"
    whole = await fetches.fetch(url, content="page")
    assert (whole.has_more, whole.next_offset, whole.truncated, whole.offset) == (False, None, False, 0)
    contents, offset = list[str](), 0
    while True:
        piece = await fetches.fetch(url, content="page", max_characters=8000, offset=offset)
        assert piece.offset == offset
        assert piece.content_length == len(whole.content)
        assert piece.has_more is piece.truncated is (piece.next_offset is not None)
        contents.append(piece.content)
        if piece.next_offset is None:
            break
        offset = piece.next_offset
    assert "".join(contents) == whole.content
    assert len(contents) > 3
    assert all(content.endswith("\n") for content in contents[:-1])


async def test_ac2_4_a_second_request_within_five_minutes_is_answered_from_the_cache(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock
) -> None:
    site = await serve(reply(ARTICLE))
    url = f"http://good.test:{site.port}/"
    first = await fetches.fetch(url)
    clock.now += 299
    second = await fetches.fetch(f"{url}#part")
    assert (first.cached, second.cached) == (False, True)
    assert second.content == first.content
    assert len(site.requests) == 1


async def test_ac2_5_after_that_the_page_is_fetched_again(
    fetches: WebFetchService, serve: Serve, reply: Reply, clock: Clock
) -> None:
    pages = iter(["<p>old</p>", "<p>new</p>"])
    site = await serve(lambda _: reply(next(pages)))
    url = f"http://good.test:{site.port}/"
    assert (await fetches.fetch(url)).content == "old"
    clock.now += 300
    again = await fetches.fetch(url)
    assert (again.content, again.cached) == ("new", False)
    assert len(site.requests) == 2


async def test_ac2_6_a_page_without_an_article_is_converted_as_a_whole(
    fetches: WebFetchService, serve: Serve, reply: Reply
) -> None:
    site = await serve(reply("<div>some text</div>"))
    assert (await fetches.fetch(f"http://good.test:{site.port}/")).content.strip() == "some text"


@pytest.mark.parametrize("name", ["application/pdf", "image/png"])
async def test_ac2_7_other_content_is_an_error_that_names_its_type(
    fetches: WebFetchService, serve: Serve, reply: Reply, name: str
) -> None:
    site = await serve(reply(b"%PDF", headers=[("Content-Type", name)]))
    with pytest.raises(UnsupportedType, match=name) as caught:
        await fetches.fetch(f"http://good.test:{site.port}/")
    assert caught.value.data["content_type"] == name


async def test_ac2_8_a_body_over_the_limit_is_cut_and_the_result_says_so(
    database: DatabaseService, service: MakeService, resolver: FakeResolver, serve: Serve, reply: Reply
) -> None:
    fetches = service(database, resolver, max_bytes=1000)
    await fetches.add_domain("good.test")
    site = await serve(reply("<p>" + "word " * 1000))
    result = await fetches.fetch(f"http://good.test:{site.port}/")
    assert result.body_truncated
    assert not result.truncated
    assert 900 < result.content_length <= 1000


async def test_ac2_9_a_page_that_takes_too_long_is_an_error(
    database: DatabaseService, service: MakeService, resolver: FakeResolver, serve: Serve
) -> None:
    over = asyncio.Event()

    async def silence(_: Request, writer: asyncio.StreamWriter) -> None:
        await over.wait()

    fetches = service(database, resolver, timeout=0.3)
    await fetches.add_domain("good.test")
    site = await serve(silence)
    with pytest.raises(FetchTimeout, match=r"good\.test did not deliver the page within 0\.3 s"):
        await fetches.fetch(f"http://good.test:{site.port}/")
    over.set()
