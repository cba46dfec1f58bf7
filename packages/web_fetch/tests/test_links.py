from __future__ import annotations

from glados.web_fetch.html import parse_html
from glados.web_fetch.links import Link, page_links

URL = "https://good.test/docs/a"


def links(page: str) -> list[Link]:
    return page_links(parse_html(page), URL)


def test_links_are_absolute_and_in_page_order() -> None:
    page = "<a href='/one'>1</a><map><area href=two alt='The second'></map><a href=three>3</a><a>no link</a>"
    assert links(page) == [
        {"text": "1", "href": "https://good.test/one"},
        {"text": "The second", "href": "https://good.test/docs/two"},
        {"text": "3", "href": "https://good.test/docs/three"},
    ]


def test_the_base_of_the_page_is_honoured() -> None:
    assert links('<base href="/other/"><a href="x">x</a>')[0]["href"] == "https://good.test/other/x"
    assert links('<base href="//cdn.test/p/"><a href="x">x</a>')[0]["href"] == "https://cdn.test/p/x"
    assert links('<base href="javascript:alert(1)"><a href="x">x</a>')[0]["href"] == "https://good.test/docs/x"
    assert links('<base href="http://[bad/"><a href="x">x</a>')[0]["href"] == "https://good.test/docs/x"
    assert links('<base href="http://"><a href="x">x</a>')[0]["href"] == "https://good.test/docs/x"
    assert links('<base target=_blank><a href="x">x</a>')[0]["href"] == "https://good.test/docs/x"


def test_links_that_lead_nowhere_are_left_out() -> None:
    for href in ("javascript:void(0)", " JavaScript:x", "java\nscript:x", "data:,x", "vbscript:x"):
        assert links(f"<a href='{href}'>x</a>") == []


def test_mail_addresses_telephone_numbers_and_places_in_the_page_are_links() -> None:
    page = "<a href=mailto:a@b.test>m</a><a href=tel:+1>t</a><a href=#top>p</a><a href=''>e</a>"
    assert [link["href"] for link in links(page)] == ["mailto:a@b.test", "tel:+1", f"{URL}#top", URL]


def test_a_link_without_text_is_named_by_its_label_or_image() -> None:
    page = (
        "<a href=a aria-label='Next page'></a><a href=b><img alt='The\n logo'></a><a href=c><img></a><a href=d alt></a>"
    )
    assert [link["text"] for link in links(page)] == ["Next page", "The logo", "", ""]


def test_links_of_drawings_need_no_address_of_their_own() -> None:
    assert links("<svg><a xlink:href='/x'><text>t</text></a></svg><a href=y>y</a>")[-1]["text"] == "y"
