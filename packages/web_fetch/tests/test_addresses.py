from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from glados.web_fetch.addresses import Addresses

BASES = (
    "https://good.test",
    "https://good.test/",
    "http://good.test:8080/a/b.html",
    "https://good.test/a/b/?q=1#f",
    "https://good.test/a;p/b;q?r",
    "https://good.test/a/../b/./c?",
    "https://b\u00fccher.test/\u00e4/x",
    "HTTPS://Good.Test/A",
)
PIECES = (
    "a",
    "b.html",
    "/",
    "//",
    ".",
    "..",
    "?",
    "#",
    ";",
    ":",
    "=",
    "&",
    " ",
    "[",
    "]",
    "@",
    "http:",
    "https://",
    "h",
    "\u00e4",
)


# Empty parts, which the standard library loses and browsers keep.
EMPTY = re.compile(r"[^:]//|(?:^|:)//(?:[/?#]|$)|;|\?#|[?#]$")


def trimmed(text: str) -> str:
    """Without what browsers ignore and the standard library does not."""
    return re.sub("[\t\n\r]", "", text.strip("".join(map(chr, range(0x21)))))


def can_be_judged(base: str, href: str) -> bool:
    """Whether the standard library joins the two as a browser does, or at all."""
    try:
        return EMPTY.search(href) is None and bool(urljoin(base, href))
    except ValueError:
        return False


@given(
    st.sampled_from(BASES),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join).map(trimmed),
)
@example(BASES[0], "")
@example(BASES[2], "http://[::1]/a")
@example(BASES[2], "mailto:a@b.test")
def test_addresses_are_joined_as_the_standard_library_does(base: str, href: str) -> None:
    assume(can_be_judged(base, href))
    assert Addresses(base).absolute(href) == urljoin(base, href)


@given(st.sampled_from(BASES), st.text(max_size=20).map(trimmed))
def test_any_text_is_joined_as_the_standard_library_does(base: str, href: str) -> None:
    assume(can_be_judged(base, href))
    assert Addresses(base).absolute(href) == urljoin(base, href)


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("/p?q#f", "https://good.test/p?q#f"),
        ("p/q", "https://good.test/docs/p/q"),
        ("../p", "https://good.test/p"),
        ("?q", "https://good.test/docs/a?q"),
        ("#f", "https://good.test/docs/a#f"),
        ("//other.test/p", "https://other.test/p"),
        ("http://other.test", "http://other.test"),
        ("http://[", "http://["),
        ("#", "https://good.test/docs/a#"),
        ("?", "https://good.test/docs/a?"),
        ("b;?#", "https://good.test/docs/b;?#"),
        ("/a//b", "https://good.test/a//b"),
    ],
)
def test_addresses_become_absolute(href: str, address: str) -> None:
    assert Addresses("https://good.test/docs/a").absolute(href) == address


def test_empty_folders_of_the_base_stay() -> None:
    assert Addresses("https://good.test/a//b/?q").absolute("c") == "https://good.test/a//b/c"


@pytest.mark.parametrize("attribute", [" /a/b ", "\n/a/b\t", "/a\n/b", "\x00/a/\r\tb"])
def test_space_around_an_address_and_line_breaks_in_it_are_ignored(attribute: str) -> None:
    assert Addresses("https://good.test/docs/").absolute(attribute) == "https://good.test/a/b"
