"""Feeds as pages, and what XML could do to those who read it."""

from __future__ import annotations

import json

import pytest

from glados.web_fetch.convert import convert
from glados.web_fetch.errors import UnsupportedType
from glados.web_fetch.feeds import root_name
from glados.web_fetch.media import Media
from glados.web_fetch.metadata import MAX_TITLE
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.settings import Mode

RSS = """<?xml version="1.0"?><!-- made by hand --><rss version="2.0" xmlns:content="c" xmlns:dc="d"><channel>
<title>News &amp; more</title><link>/</link><description>All of it</description>
<image><title>Logo</title><link>/logo</link></image>
<item><title>One&nbsp;&lt;b&gt;thing&lt;/b&gt;</title><link>/1</link><pubDate>Mon, 01 Jan 2024</pubDate>
<description><![CDATA[<p>Read <b>this</b>.</p>]]></description></item>
<item><title>Two</title><guid>https://good.test/2</guid><dc:date>2024-01-02</dc:date>
<description>short</description><content:encoded>&lt;p&gt;the whole text&lt;/p&gt;</content:encoded></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><title>a &lt; b</title><link rel="self" href="x"/>
<link href="home"/><updated>2024-01-03</updated><entry><title type="html">&lt;i&gt;E&lt;/i&gt;</title><link href="e1"/>
<id>urn:1</id><published>2024-01-01</published><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
<p>x &lt; <b>y</b></p></div></content></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/"><channel><title>Old</title></channel>
<item><title>A</title><link>https://good.test/a</link></item></rdf:RDF>"""


def converted(document: str, mode: Mode = "markdown", type: str = "application/rss+xml") -> Page:
    return convert(Source("https://good.test/feed", Media(type, "utf-8"), document.encode()), mode, "main")


def test_rss_becomes_headings_dates_and_texts() -> None:
    page = converted(RSS)
    assert page.title == "News & more"
    assert page.text == (
        "# [News & more](https://good.test/)\n\nAll of it\n\n"
        "## [One thing](https://good.test/1)\n\nMon, 01 Jan 2024\n\nRead **this**.\n\n"
        "## [Two](https://good.test/2)\n\n2024-01-02\n\nthe whole text"
    )


def test_atom_says_which_of_its_texts_are_markup_and_where_its_links_begin() -> None:
    page = converted(ATOM, type="application/atom+xml")
    assert (page.title, page.published) == ("a < b", "2024-01-03")
    assert page.text.startswith(
        "# [a < b](https://good.test/blog/home)\n\n2024-01-03\n\n## [E](https://good.test/blog/e1)"
    )
    assert page.text.endswith("2024-01-01\n\nx < **y**")


def test_the_first_kind_of_rss_has_its_entries_beside_the_channel() -> None:
    assert converted(RDF, type="text/xml").text == "# Old\n\n## [A](https://good.test/a)"


@pytest.mark.parametrize("flaw", ["salt & pepper", "salt &amp; pep\x0bper", "salt &amp pepper &;"])
def test_a_feed_with_a_stray_character_loses_nothing_behind_it(flaw: str) -> None:
    page = converted(RSS.replace("All of it", flaw))
    assert "salt & pep" in page.text
    assert page.text.endswith("the whole text")
    assert page.text.count("\n## ") == 2


def test_a_feed_that_is_cut_keeps_what_came_before() -> None:
    page = converted(RSS[: RSS.index("short")].replace("All of it", "this & that"))
    assert page.text.startswith("# [News & more](https://good.test/)\n\nthis & that")
    assert page.text.endswith("## [Two](https://good.test/2)\n\n2024-01-02")


@pytest.mark.parametrize("text", ["<![CDATA[<p>begun</p>", "&lt;p&gt;begun&lt;/p&gt;", "begun", "begun<b"])
def test_a_text_in_the_middle_of_which_a_feed_is_cut_is_kept(text: str) -> None:
    page = converted(f"<rss><channel><title>T</title><item><title>One</title><description>{text}")
    assert page.text == "# T\n\n## One\n\nbegun"


def test_half_an_address_or_a_date_is_not_kept() -> None:
    for name in ("link", "pubDate"):
        page = converted(f"<rss><channel><title>T</title><item><title>One</title><{name}>https://good.test/half")
        assert page.text == "# T\n\n## One"


def test_the_title_of_an_entry_cannot_end_its_link() -> None:
    page = converted(RSS.replace("Two", "Two](https://evil.test/) [2"))
    assert r"## [Two\](https://evil.test/) \[2](https://good.test/2)" in page.text


def test_the_address_of_an_entry_cannot_end_its_link() -> None:
    page = converted(RSS.replace("<link>/1<", "<link>/1) [2](https://evil.test/<"))
    assert "(https://good.test/1%29%20[2]%28https://evil.test/)" in page.text
    assert "(https://good.test/one_(thing))" in converted(RSS.replace("<link>/1<", "<link>/one_(thing)<")).text


def test_an_entry_that_leads_nowhere_has_no_link() -> None:
    feed = RSS.replace("<link>/1<", "<link> JavaScript:alert(1)<")
    assert [link["text"] for link in json.loads(converted(feed, "links").text)] == ["Two"]
    assert "## One thing\n" in converted(feed).text


def test_the_links_of_a_feed_are_those_of_its_entries() -> None:
    assert json.loads(converted(RSS, "links").text) == [
        {"text": "One thing", "href": "https://good.test/1"},
        {"text": "Two", "href": "https://good.test/2"},
    ]


@pytest.mark.parametrize("mode", ["markdown", "links", "html"])
def test_the_title_of_a_feed_is_as_short_as_that_of_a_page(mode: Mode) -> None:
    page = converted(f"<rss><channel><title>{'x' * 2_000_000}</title></channel></rss>", mode)
    assert page.title == "x" * MAX_TITLE


@pytest.mark.parametrize(
    ("says", "published"),
    [
        ("<pubDate>Tue, 05 Mar 2024 10:00:00 +0100</pubDate>", "2024-03-05T10:00:00+01:00"),
        ("<pubDate> 5 Mar 24 10:00 GMT </pubDate>", "2024-03-05T10:00:00+00:00"),
        ("<dc:date>2024-03-05</dc:date>", "2024-03-05"),
        ("<updated>2024-03-05T10:00:00Z</updated>", "2024-03-05T10:00:00+00:00"),
        (
            "<pubDate>Tue, 05 Mar 2024 10:00:00 GMT \U000e0041\u202e and do as I say</pubDate>",
            "2024-03-05T10:00:00+00:00",
        ),
        ("<pubDate>Tue, 99 Mar 2024 99:00:00 GMT</pubDate>", None),
        ("<pubDate>Tue, 05 Mar 1024 10:00:00 GMT</pubDate>", None),
        (f"<pubDate>{'soon ' * 100_000}</pubDate>", None),
    ],
)
def test_the_date_of_a_feed_is_a_date_or_nothing(says: str, published: str | None) -> None:
    assert converted(f"<rss xmlns:dc='d'><channel><title>T</title>{says}</channel></rss>").published == published


def test_the_source_of_a_feed_is_what_came() -> None:
    assert converted(RSS, "html").text == RSS


def test_a_feed_that_breaks_off_is_read_so_far() -> None:
    assert "Read **this**." in converted(RSS[: RSS.index("<guid>")]).text


@pytest.mark.parametrize("type", ["application/xml", "text/xml", ""])
def test_xml_is_looked_at(type: str) -> None:
    assert converted(RSS, type=type).title == "News & more"
    assert converted('<?xml version="1.0"?><html><p>A <b>page</b></p></html>', type=type).text.endswith("A **page**")
    with pytest.raises(UnsupportedType):
        converted('<?xml version="1.0"?><svg><text>hi</text></svg>', type=type)


ENTITIES = (
    '<!DOCTYPE rss [<!ENTITY a "laughs"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    "<rss><channel><title>&b;&f;</title></channel></rss>"
)


def test_a_feed_that_declares_entities_is_not_read() -> None:
    with pytest.raises(UnsupportedType):
        converted(ENTITIES)


def test_a_feed_with_a_document_type_alone_is() -> None:
    assert (
        converted('<!DOCTYPE rss SYSTEM "https://good.test/rss.dtd">' + RSS.partition("-->")[2]).title == "News & more"
    )


def test_nesting_without_an_end_is_refused() -> None:
    with pytest.raises(UnsupportedType):
        converted("<rss><channel>" + "<a>" * 1000)


def test_the_root_is_found_behind_anything_that_may_stand_before_it() -> None:
    assert root_name("\n<?xml?><!-- <x> --><!DOCTYPE r [<!ENTITY a 'b'>]>\n<RDF:rdf a='b'>") == "rdf"
    assert root_name("<!----><!-->" * 5000) == ""
    assert root_name("no markup") == ""
