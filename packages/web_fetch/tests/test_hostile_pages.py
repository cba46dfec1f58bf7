"""Every hostile page through a real worker: its words are kept or it is refused by name, and the next page converts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from glados.core import ToolError
from glados.web_fetch.converter import Converter
from glados.web_fetch.errors import TooComplex, UnsupportedType
from glados.web_fetch.media import Media, parse_media
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.settings import Mode, WebFetchSettings
from tests.hostile_pages import HOSTILE_PAGES, HostilePage

# What can only be refused: the parser itself needs more time or memory than there is.
REFUSED = {
    "100,000 nested divs",
    "40,000 attributes",
    "a million attributes",
    "2,000 open bold tags",
    "a million cells",
    "billion laughs",
}
# What a slow machine may refuse, too: its conversion takes a good part of the time that it may.
LARGE = {
    name
    for name in HOSTILE_PAGES
    if name.startswith(("5 MB", "10,000", "20", "8,000", "a feed", "garbage", "invisible", "wide"))
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def converter(anyio_backend: str) -> AsyncIterator[Converter]:
    async with Converter(WebFetchSettings()) as converter:
        yield converter


async def outcome(converter: Converter, page: HostilePage, mode: Mode) -> Page | ToolError:
    try:
        return await converter.convert(Source("https://good.test/", parse_media(page.type), page.body), mode, "page")
    except ToolError as error:
        return error


async def check_that_the_next_page_converts(converter: Converter) -> None:
    source = Source("https://good.test/", Media("text/html"), b"<p>the <b>next</b> page</p>")
    assert (await converter.convert(source, "markdown", "page")).text == "the **next** page"


@pytest.mark.parametrize("name", HOSTILE_PAGES)
async def test_a_hostile_page_keeps_its_words_or_is_refused(converter: Converter, name: str) -> None:
    page = HOSTILE_PAGES[name]
    result = await outcome(converter, page, "markdown")
    if name in REFUSED or isinstance(result, ToolError):
        assert isinstance(result, TooComplex | UnsupportedType)
        assert name in REFUSED | LARGE
    else:
        assert all(word in result.text for word in page.words)
        assert "\ud800" not in result.text
        result.text.encode()
    await check_that_the_next_page_converts(converter)


@pytest.mark.parametrize("mode", ["html", "links"])
@pytest.mark.parametrize("name", ["100,000 nested divs", "5 MB of paragraphs", "lone surrogates", "garbage"])
async def test_a_hostile_page_harms_nobody_in_any_mode(converter: Converter, name: str, mode: Mode) -> None:
    result: Any = await outcome(converter, HOSTILE_PAGES[name], mode)
    assert isinstance(result, Page | TooComplex)
    if isinstance(result, Page):
        result.text.encode()
    await check_that_the_next_page_converts(converter)
