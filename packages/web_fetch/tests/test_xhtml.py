"""XHTML: what closes itself is over, and what is written as text is text."""

from __future__ import annotations

import pytest

from glados.web_fetch.convert import convert
from glados.web_fetch.media import Media
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.settings import Mode
from glados.web_fetch.xhtml import as_html

PAGE = """<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="x.js"/><title>T</title><style/></head>
<body><p>one<br/>two</p><iframe src="/a>b"/><textarea/><p>three <![CDATA[1 < 2 & <b>]]></p></body></html>"""


def converted(document: str, type: str, mode: Mode = "markdown") -> Page:
    return convert(Source("https://good.test/", Media(type, "utf-8"), document.encode()), mode, "page")


@pytest.mark.parametrize("type", ["application/xhtml+xml", "application/xml"])
def test_an_element_that_closes_itself_swallows_nothing_behind_it(type: str) -> None:
    page = converted(PAGE, type)
    assert page.title == "T"
    assert page.text == "one  \ntwo\n\nthree 1 < 2 & <b>"


def test_the_source_of_xhtml_is_what_came() -> None:
    page = converted(PAGE, "application/xhtml+xml", "html")
    assert (page.title, page.text) == ("T", PAGE)


@pytest.mark.parametrize(
    ("xhtml", "html"),
    [
        ("<a b='/>' c=\"/>\"/>", "<a b='/>' c=\"/>\"></a>"),
        ("<p/ x>", "<p/ x>"),
        ("<a href=x/y/>", "<a href=x/y></a>"),
        ("<!-- <b/> -->", "<!-- <b/> -->"),
        ("<BR/><hr />", "<BR/><hr />"),
        ("1 < 2 /> <x:y/>", "1 < 2 /> <x:y></x:y>"),
        ("<!-- <b/> ", "<!-- <b/> "),
    ],
)
def test_nothing_else_is_touched(xhtml: str, html: str) -> None:
    assert as_html(xhtml) == html


def test_a_section_of_text_that_was_cut_is_text_to_the_end() -> None:
    assert as_html("<p/><![CDATA[1 < 2") == "<p></p>1 &lt; 2"
