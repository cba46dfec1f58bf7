"""The limits that no setting moves: each is in the document with its number, and here is what happens at it."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from glados import web_fetch
from glados.web_fetch.conversion_process import ConversionProcess, ProcessEnded
from glados.web_fetch.convert import HEAD, convert
from glados.web_fetch.errors import InvalidUrl, ProxyFailed, UnsupportedType
from glados.web_fetch.feeds import MAX_DEPTH
from glados.web_fetch.gfm import MAX_LANGUAGE
from glados.web_fetch.html import MAX_LEVELS, parse_html
from glados.web_fetch.http import MAX_VALIDATOR
from glados.web_fetch.links import page_links
from glados.web_fetch.markdown import to_markdown
from glados.web_fetch.media import Media
from glados.web_fetch.metadata import MAX_ELEMENTS, MAX_SCRIPTS, page_published
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.proxy import MAX_ANSWER
from glados.web_fetch.sheets import MAX_NAMES as MAX_SHEET_NAMES
from glados.web_fetch.sheets import MAX_RULES, MAX_SHEETS
from glados.web_fetch.tags_table import MAX_SPAN
from glados.web_fetch.urls import MAX_URL, parse_url
from glados.web_fetch.words import MAX_NAMES, MAX_WORDS, hint

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Request, Serve

# In the order of the document.
FIXED = [
    "urls.MAX_URL",
    "hosts.MAX_NAME",
    "hosts.MAX_LABEL",
    "resolver.MAX_ADDRESSES",
    "exchange.MAX_HEADERS",
    "http.MAX_VALIDATOR",
    "proxy.MAX_ANSWER",
    "body.BOMB_RATIO",
    "http.UPGRADE_TIMEOUT",
    "loader.ALTERNATE_TIMEOUT",
    "robots.MAX_BYTES",
    "robots.TIMEOUT",
    "robots.KEPT_FOR",
    "robots.MAX_SITES",
    "cache.MAX_OLDER",
    "cache.MAX_READERS",
    "outliner.MAX_NODES",
    "links.MAX_TEXT",
    "metadata.MAX_TITLE",
    "metadata.MAX_SCRIPTS",
    "metadata.MAX_SCRIPT",
    "metadata.MAX_ELEMENTS",
    "convert.HEAD",
    "sheets.MAX_SHEETS",
    "sheets.MAX_RULES",
    "sheets.MAX_NAMES",
    "html.MAX_LEVELS",
    "words.MAX_NAMES",
    "words.MAX_WORDS",
    "tags_table.MAX_SPAN",
    "gfm.MAX_LANGUAGE",
    "feeds.MAX_DEPTH",
    "json_text.MAX_GROWTH",
    "conversion_process.MAX_GROWTH",
    "conversion.WORK_PER_BYTE",
]
# Bounds of settings and inputs, which are in their schemas, and of what our own process says.
ELSEWHERE = {
    "settings.MAX_CHARACTERS",
    "settings.MAX_TIMEOUT",
    "tools.fetch.MAX_OFFSET",
    "conversion_process.MAX_HEADER",
}
DATE = '<script type="application/ld+json">{"datePublished": "2024-03-05"}</script>'


def value(name: str) -> Any:
    module, _, constant = name.rpartition(".")
    return getattr(importlib.import_module(f"glados.web_fetch.{module}"), constant)


def page(text: str, type: str = "text/html", mode: Any = "markdown") -> Page:
    return convert(Source("https://good.test/", Media(type, "utf-8"), text.encode()), mode, "page")


def test_every_fixed_limit_is_in_the_document_with_its_number() -> None:
    document = (Path(__file__).parents[3] / "docs" / "web-fetch.md").read_text()
    table = document.partition("| fixed limit |")[2].partition("\n\n")[0]
    numbers = [number for row in table.splitlines()[2:] for number in row.split("|")[2].split(";")]
    assert [float(number.replace(",", "")) for number in numbers] == [float(value(name)) for name in FIXED]


def test_there_is_no_other_limit() -> None:
    found = set[str]()
    for module in pkgutil.walk_packages(web_fetch.__path__, "glados.web_fetch."):
        source = find_spec(module.name)
        assert source is not None
        assert source.origin is not None
        lines = re.findall(r"^MAX_.*? = ", Path(source.origin).read_text(), re.MULTILINE)
        names = re.findall(r"MAX_\w+", " ".join(lines))
        found |= {f"{module.name.removeprefix('glados.web_fetch.')}.{name}" for name in names}
    assert found - set(FIXED) == ELSEWHERE


def test_a_url_has_so_many_characters() -> None:
    start = "https://good.test/"
    assert parse_url(start + "x" * (MAX_URL - len(start)))
    with pytest.raises(InvalidUrl):
        parse_url(start + "x" * (MAX_URL - len(start) + 1))


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
async def test_a_mark_of_a_version_is_sent_back_up_to_a_length(
    serve: Serve, fetcher: type[Fetcher], reply: Reply, header: str
) -> None:
    client = fetcher({"good.test": ["127.0.0.1"]})
    for length, is_kept in ((MAX_VALIDATOR, True), (MAX_VALIDATOR + 1, False)):
        site = await serve(reply("x", headers=[(header, "v" * length)]))
        response = await client.get(f"http://good.test:{site.port}/")
        assert (response.validators is not None) is is_kept


async def test_a_proxy_answers_with_so_many_bytes(serve: Serve, fetcher: type[Fetcher]) -> None:
    over = asyncio.Event()

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * (MAX_ANSWER + 4096))
        await over.wait()  # it neither ends its head nor hangs up

    site = await serve(answer)
    client = fetcher({"good.test": ["127.0.0.1"]}, proxy=f"http://127.0.0.1:{site.port}")
    with pytest.raises(ProxyFailed, match="did not answer as a proxy does"):
        await client.get("https://good.test/")
    over.set()


def test_texts_of_links_are_given_until_they_are_too_long_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glados.web_fetch.links.MAX_TEXT", 10)
    tree = parse_html("".join(f'<a href="/{n}" aria-label="label">sixsix</a>' for n in range(4)))
    assert [link["text"] for link in page_links(tree, "https://good.test/")] == ["sixsix", "sixsix", "label", "label"]


def test_so_many_scripts_and_elements_are_searched_for_a_date() -> None:
    other = DATE.replace("datePublished", "dateCreated")
    assert page_published(parse_html(other * (MAX_SCRIPTS - 1) + DATE)) == "2024-03-05"
    assert page_published(parse_html(other * MAX_SCRIPTS + DATE)) is None
    dates = "<b itemprop=datePublished>soon</b>", "<b itemprop=datePublished>2024-03-05</b>"
    assert page_published(parse_html(dates[0] * (MAX_ELEMENTS - 1) + dates[1])) == "2024-03-05"
    assert page_published(parse_html(dates[0] * MAX_ELEMENTS + dates[1])) is None


def test_in_mode_html_the_title_is_looked_for_at_the_beginning() -> None:
    title = "<title>Found</title>"
    assert page(f"<!--{'x' * (HEAD - len(title) - 7)}-->{title}", mode="html").title == "Found"
    assert page(f"<!--{'x' * HEAD}-->{title}", mode="html").title is None


def test_so_many_characters_of_style_sheets_are_read() -> None:
    rule, element = "p{}.x{display:none}", "<p class=x>words</p>"
    assert page(f"<style>{rule.rjust(MAX_SHEETS)}</style>{element}").text == "words"  # there is nothing else
    assert page(f"<style>{rule.rjust(MAX_SHEETS)}</style>{element}<p>more").text == "more"
    assert page(f"<style>{rule.rjust(MAX_SHEETS)}</style><style> </style>{element}<p>more").text == "words\n\nmore"


def test_so_many_rules_that_hide_and_names_count() -> None:
    rules = "".join(f".x{number}{{display:none}}" for number in range(MAX_RULES + 1))
    elements = f"<p class=x{MAX_RULES - 1}>first</p><p class=x{MAX_RULES}>second</p>"
    assert page(f"<style>{rules}</style>{elements}").text == "second"
    classes = [f"y{number:03}" for number in range(MAX_SHEET_NAMES)]
    elements = f"<p class='x {' '.join(classes[1:])}'>few</p><p>more"
    assert page(f"<style>.x{{display:none}}</style>{elements}").text == "more"
    elements = f"<p class='x {' '.join(classes)}'>many</p><p>more"
    assert page(f"<style>.x{{display:none}}</style>{elements}").text == "many\n\nmore"


def test_so_many_levels_around_an_element_are_looked_at() -> None:
    def shown(levels: int) -> str:
        inner = f"{'<div>' * (levels - 1)}<p class=x>words</p>{'</div>' * (levels - 1)}"
        return page(f"<style>.y .x{{display:none}}</style><div class=y>{inner}</div><p>more").text

    assert shown(MAX_LEVELS) == "more"
    assert shown(MAX_LEVELS + 1) == "words\n\nmore"


def test_so_much_of_names_is_read() -> None:
    assert hint("sidebar".rjust(MAX_NAMES), "", "").is_beside
    assert not hint("sidebar".rjust(MAX_NAMES + 1), "", "").is_beside
    assert hint("", "-".join(["sidebar", *["x"] * MAX_WORDS]), "").is_beside
    assert not hint("", "-".join(["sidebar", *["x"] * (MAX_WORDS + 1)]), "").is_beside


@pytest.mark.parametrize(("span", "columns"), [(MAX_SPAN, MAX_SPAN), (MAX_SPAN + 1, MAX_SPAN), (10**9, MAX_SPAN)])
def test_a_cell_spans_so_many_columns(span: int, columns: int) -> None:
    root = parse_html(f"<table><tr><th colspan={span}>x</th></tr></table>").body
    assert root is not None
    assert to_markdown(root).count("---") == columns


def test_the_language_of_code_has_so_many_characters() -> None:
    block = '<pre><code class="language-{}">x</code></pre>'
    assert page(block.format("y" * MAX_LANGUAGE)).text.startswith(f"```{'y' * MAX_LANGUAGE}\n")
    assert page(block.format("y" * (MAX_LANGUAGE + 1))).text.startswith("```\n")


def test_a_feed_has_so_many_levels() -> None:
    def feed(levels: int) -> str:
        inner = levels - 2
        return f"<rss><title>T</title><a>{'<b>' * inner}{'</b>' * inner}</a></rss>"

    assert page(feed(MAX_DEPTH), "text/xml").title == "T"
    with pytest.raises(UnsupportedType):
        page(feed(MAX_DEPTH + 1), "text/xml")


async def test_a_page_does_not_become_many_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glados.web_fetch.conversion_process.MIN_REPLY", 0)
    header = {
        "url": "https://good.test/",
        "type": "text/plain",
        "charset": "utf-8",
        "mode": "markdown",
        "content": "page",
    }
    process = await ConversionProcess.start(5, 300_000_000)
    try:
        assert (await process.ask(header, b"words"))[1] == "words"
        monkeypatch.setattr("glados.web_fetch.conversion_process.MAX_GROWTH", 0)
        with pytest.raises(ProcessEnded, match="too long"):
            await process.ask(header, b"words")
    finally:
        process.kill()
        await process.wait()
