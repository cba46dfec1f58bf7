from __future__ import annotations

import pytest
from selectolax.lexbor import LexborHTMLParser

from glados.web_fetch import conversion
from glados.web_fetch.markdown import TooMuch, to_markdown


def markdown(html: str) -> str:
    root = LexborHTMLParser(html).root
    assert root is not None
    return to_markdown(root)


@pytest.mark.parametrize(
    ("tag", "depth"),
    [
        *(("div", 5_000), ("ul><li", 2_000), ("ol><li", 2_000), ("b", 2_000), ("blockquote", 2_000), ("dl><dd", 2_000)),
        *(("x-y", 5_000), ("table><tr><td", 200), ("pre", 200)),
    ],
)
def test_deep_nesting_loses_no_text(tag: str, depth: int) -> None:
    text = markdown(f"<p>before</p>{f'<{tag}>' * depth}the words")
    assert text.startswith("before")
    assert "the words" in text


def test_lists_that_nest_without_end_are_given_up() -> None:
    with pytest.raises(TooMuch, match="use its plain text"):
        markdown("<ul><li>word" * 5_000)


@pytest.mark.parametrize(
    "page",
    [
        "<ol><li>word" * 500,
        "<dl><dd>word" * 500,
        "<blockquote>word" * 1_000,
        "<table><thead><tr><td>word" * 500,
        "<table><tbody></tbody><tbody><tr><td>word" * 500,
        "<video>word" * 500,
        "<pre>word" * 500,
        "<dt>some words<section>" * 500,
        "<table><tr>" + "<td colspan=1000>word" * 5_000,
        f"<ol start={'9' * 4_000}>" + "<li>word" * 100,
        "<div>" * 500 + "word " * 10_000,
    ],
    ids=lambda page: page[:20],
)
def test_a_page_that_would_grow_without_end_is_given_up(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "WORK_AT_LEAST", 1_000_000)
    with pytest.raises(TooMuch):
        markdown(page)


def test_the_work_grows_with_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "WORK_AT_LEAST", 0)
    nested = "<div>" * 30 + "{}" + "</div>" * 30
    for size in (100, 10_000, 1_000_000):
        assert len(markdown(nested.format("x" * size))) == size
    with pytest.raises(TooMuch):
        markdown("<div>" * 100 + "x" * 10_000)


def test_many_items_are_numbered() -> None:
    assert markdown("<ol>" + "<li>word" * 20_000).endswith("\n20000. word")


def test_many_rows_in_a_head_are_rows() -> None:
    text = markdown("<table><thead>" + "<tr><td>word" * 8_000)
    assert text.count("| word |") == 8_000
    assert text.count("---") == 1


def test_many_cells_stay() -> None:
    assert markdown("<table><tr>" + "<td>word" * 100_000).count("word |") == 100_000


def test_many_bodies_of_a_table_are_searched_for_its_head_once() -> None:
    text = markdown("<table><tbody></tbody>" + "<tbody><tr><td>word" * 5_000)
    assert text.count("| word |") == 5_000


def test_many_attributes_are_read() -> None:
    attributes = " ".join(f"a{number}=x" for number in range(5_000))
    assert markdown(f"<a {attributes} href=y>word</a>") == "[word](y)"


def test_formatting_that_a_parser_repeats_in_every_paragraph_ends() -> None:
    page = "".join(f"<p><b x={number}>word" for number in range(300))
    assert markdown(page).count("word") == 300


@pytest.mark.parametrize("tag", ["p", "pre", "h1", "code", "td"])
@pytest.mark.parametrize("space", [" ", "\n", " \n", "\t", "\xa0"])
def test_much_white_space_is_read_once(tag: str, space: str) -> None:
    text = markdown(f"<table><tr><{tag}>a{space * 200_000}b</{tag}>")
    assert "a" in text
    assert "b" in text


def test_a_long_page_keeps_its_text() -> None:
    assert markdown("<p>word *x*\n" * 50_000).count(r"word \*x\*") == 50_000


def test_garbage_has_a_text() -> None:
    assert "words" in markdown(
        "<<< </ <!-><![CDATA[ <![endif]--> \x00\x01\ufffe &#xd800; &#0; &#x110000; words <a <b =\"'> </"
    )
