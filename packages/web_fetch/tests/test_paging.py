"""Cuts: the pieces of a page together are the page, and none of them ends inside what belongs together."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glados.web_fetch.paging import Piece, cut_links, cut_text

FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
FLAG = "\N{REGIONAL INDICATOR SYMBOL LETTER D}\N{REGIONAL INDICATOR SYMBOL LETTER K}"


def pieces(text: str, limit: int) -> list[str]:
    found, offset = list[str](), 0
    while True:
        piece = cut_text(text, offset, limit)
        found.append(piece.content)
        if piece.next_offset is None:
            return found
        assert piece.next_offset > offset
        offset = piece.next_offset


@given(
    text=st.text(st.sampled_from("ab \n[]()<>!\\é\u0301\u200d👍🏽🇩🇰\r") | st.characters(), max_size=300),
    limit=st.integers(1, 40),
)
def test_the_pieces_of_any_text_are_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    found = pieces(text, limit)
    assert "".join(found) == text
    assert all(len(piece) <= limit for piece in found)
    assert all(found[:-1])


def test_a_short_text_is_one_piece() -> None:
    assert cut_text("short", 0, 5) == Piece("short", None)
    assert cut_text("short", 5, 5) == Piece("", None)
    assert cut_text("short", 99, 5) == Piece("", None)


def test_a_cut_falls_behind_a_line_or_a_word() -> None:
    assert cut_text("first line\nsecond line", 0, 14).content == "first line\n"
    assert cut_text("many words on one line", 0, 14).content == "many words on "
    assert cut_text("x" * 20, 0, 14).content == "x" * 14


@pytest.mark.parametrize(
    "token",
    [
        "[the manual](https://example.com/manual_(new))",
        '[the manual](https://example.com/a "a title")',
        "![a picture of it](https://example.com/a.png)",
        "[![a picture](https://example.com/a.png) of it](https://example.com/)",
        "[some [brackets] inside](https://example.com/)",
        "[some \\] escaped \\[ ones](https://example.com/)",
        "<https://example.com/a?b=c>",
        "<mailto:somebody@example.com>",
    ],
)
def test_no_cut_goes_through_a_link(token: str) -> None:
    text = f"Some words before {token} and some words behind it."
    for limit in range(len(token), len(text)):
        found = pieces(text, limit)
        assert "".join(found) == text
        assert [piece for piece in found if token in piece], (limit, found)


def test_links_in_a_row_are_kept_whole() -> None:
    text = "".join(f"[link {n}](https://example.com/{n})" for n in range(200))
    for piece in pieces(text, 100):
        assert re.fullmatch(r"(\[link \d+\]\(https://example\.com/\d+\))+", piece)


@pytest.mark.parametrize("token", ["x" * 50, f"[{'x' * 50}](https://example.com/)", "e" + "\u0301" * 100, FAMILY * 20])
def test_what_is_longer_than_the_limit_is_cut_all_the_same(token: str) -> None:
    found = pieces(f"{token} {token}", 10)
    assert "".join(found) == f"{token} {token}"
    assert all(0 < len(piece) <= 10 for piece in found)


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "👍🏽",
        FAMILY,
        FLAG,
        "\r\n",
        "❤\ufe0f",
        "\u1112\u1161\u11ab",
        "🏴\U000e0067\U000e0062\U000e007f",
        "कि",
    ],
    ids=["accent", "skin tone", "family", "flag", "line end", "variation", "syllable", "tags", "vowel sign"],
)
def test_no_cut_takes_a_character_apart(character: str) -> None:
    text = character * 40
    for limit in range(len(character), 4 * len(character) + 1):
        for piece in pieces(text, limit):
            assert len(piece) % len(character) == 0


def test_a_cut_takes_no_longer_on_a_hostile_text() -> None:
    for text in ("[" * 2_000_000, "[](" * 700_000, "![a](" * 400_000 + ")" * 400_000, "<https://" * 200_000):
        assert cut_text(text, 0, 50_000).next_offset == 50_000


LINKS = [
    {"text": "one", "href": "https://example.com/1"},
    {"text": '}, {"text": "forged", "href": "x"}', "href": 'https://example.com/}, {"text": "'},
    {"text": "}, {", "href": "https://example.com/}, {"},
    {"text": "ü 👍", "href": "https://example.com/%C3%BC"},
    {"text": "", "href": ""},
] * 5


def links_pieces(links: list[dict[str, str]], limit: int) -> list[str]:
    text, found, offset = json.dumps(links, ensure_ascii=False), list[str](), 0
    while True:
        piece = cut_links(text, offset, limit)
        found.append(piece.content)
        if piece.next_offset is None:
            return found
        assert piece.next_offset > offset
        offset = piece.next_offset


@pytest.mark.parametrize("limit", [1, 2, 3, 40, 60, 100, 101, 500, 5000])
def test_every_cut_of_the_links_is_a_list_and_together_they_are_all_links(limit: int) -> None:
    found = links_pieces(LINKS, limit)
    lists = [json.loads(piece) for piece in found]
    assert [link for piece in lists for link in piece] == LINKS
    assert all(lists)
    longest = max(len(json.dumps([link], ensure_ascii=False)) for link in LINKS)
    assert all(len(piece) <= max(limit, longest) for piece in found)


@given(
    links=st.lists(st.fixed_dictionaries({"text": st.text(), "href": st.text()}), max_size=8), limit=st.integers(1, 80)
)
def test_any_links_are_paged_without_losing_or_repeating_one(links: list[dict[str, str]], limit: int) -> None:
    found = links_pieces(links, limit)
    assert [link for piece in found for link in json.loads(piece)] == links


def test_links_are_cut_no_shorter_than_need_be() -> None:
    text = json.dumps(LINKS[:1] * 3, ensure_ascii=False)
    two = json.dumps(LINKS[:1] * 2, ensure_ascii=False)
    assert cut_links(text, 0, len(two)).content == two
    assert cut_links(text, 0, len(two) - 1).content == json.dumps(LINKS[:1])
    assert cut_links(text, 0, len(text)) == Piece(text, None)
    assert cut_links(text, 0, len(text) - 1).content == two


def test_links_can_be_read_from_anywhere() -> None:
    text = json.dumps(LINKS, ensure_ascii=False)
    for offset in range(len(text) + 3):
        assert isinstance(json.loads(cut_links(text, offset, 100).content), list)
    assert cut_links("[]", 0, 10) == Piece("[]", None)
    assert cut_links("[]", 5, 10) == Piece("[]", None)
