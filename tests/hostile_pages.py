"""Pages that are written to keep their reader busy, for tests and benchmarks of what reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostilePage:
    """How a page is made, which words are in it, and of which type it claims to be."""

    make: Callable[[], str | bytes]
    words: tuple[str, ...] = ("before", "inside")
    type: str = "text/html; charset=utf-8"

    @property
    def body(self) -> bytes:
        """The page as it is sent."""
        made = self.make()
        return made.encode("utf-8", "surrogatepass") if isinstance(made, str) else made


def attributes(number: int) -> str:
    """One tag with so many attributes."""
    return f"<p>before</p><div {' '.join(f'a{n}=1' for n in range(number))}>inside</div>"


def laughs() -> str:
    """A feed whose entities double in size with each, and one that is a file."""
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    secret = '<!ENTITY file SYSTEM "file:///etc/passwd">'
    document_type = f'<!DOCTYPE rss [<!ENTITY a0 "laugh">{entities}{secret}]>'
    return f'<?xml version="1.0"?>{document_type}<rss><channel><title>&a11;&file;</title></channel></rss>'


HOSTILE_PAGES = {
    "100,000 nested divs": HostilePage(lambda: "<p>before</p>" + "<div>" * 100_000 + "inside"),
    "10,000 nested lists": HostilePage(lambda: "<p>before</p>" + "<ul><li>" * 10_000 + "inside"),
    "10,000 nested lists with text": HostilePage(
        lambda: "<p>before</p>" + "".join(f"<ul><li>item{n}" for n in range(10_000)), ("before", "item9999")
    ),
    "20,000 items": HostilePage(
        lambda: "<p>before</p><ol>" + "".join(f"<li>item{n}</li>" for n in range(20_000)), ("before", "item19999")
    ),
    "8,000 table heads": HostilePage(
        lambda: "<p>before</p><table>" + "".join(f"<thead><tr><th>head{n}" for n in range(8_000)),
        ("before", "head7999"),
    ),
    "40,000 attributes": HostilePage(lambda: attributes(40_000)),
    "a million attributes": HostilePage(lambda: attributes(1_000_000)[:5_000_000], ()),
    "2,000 open bold tags": HostilePage(lambda: "before" + "".join(f"<p><b x={n}>" for n in range(2_000)) + "inside"),
    "a million cells": HostilePage(lambda: "<p>before</p><table><tr>" + "<td>1" * 1_000_000 + "<td>inside"),
    "200,000 cells": HostilePage(lambda: "<p>before</p><table><tr>" + "<td>1" * 200_000 + "<td>inside"),
    "5 MB of paragraphs": HostilePage(
        lambda: "<p>before</p>" + "<p>Some words <b>and</b> more of <a href=x>them</a>.</p>" * 85_000 + "inside"
    ),
    "5 MB of one word": HostilePage(lambda: "<p>before</p>" + "x" * 5_000_000 + " inside"),
    "5 MB of open tags": HostilePage(lambda: "<p>before</p>inside" + "<" * 5_000_000, ("before", "inside")),
    "5 MB of entities": HostilePage(lambda: "<p>before</p>inside" + "&amp;" * 1_000_000),
    "5 MB of a comment": HostilePage(lambda: "<p>before</p>inside<!--" + "-" * 5_000_000),
    "garbage": HostilePage(lambda: random.Random(1).randbytes(5_000_000), ()),
    "garbage without a charset": HostilePage(lambda: random.Random(1).randbytes(5_000_000), (), "text/html"),
    "an old alphabet without a charset": HostilePage(
        lambda: ("<p>before</p>" + "<p>Ещё этих мягких булок.</p>" * 160_000 + "inside").encode("cp1251"),
        ("before", "мягких", "inside"),
        "text/html",
    ),
    "lone surrogates": HostilePage(lambda: "<p>before \ud800 &#xd800; \udfff inside"),
    "invisible text": HostilePage(lambda: "<p>before" + "\U000e0041\u200b" * 500_000 + "inside"),
    "nested JSON": HostilePage(lambda: "[" * 100_000, ("[[[",), "application/json"),
    "wide and deep JSON": HostilePage(
        lambda: "[" + ",".join(["[" * 400 + "]" * 400] * 6_000) + "]", ("[[[",), "application/json"
    ),
    "JSON with half a letter": HostilePage(lambda: '{"before": "\\ud800 inside"}', type="application/json"),
    "billion laughs": HostilePage(laughs, (), "application/rss+xml"),
    "a feed of 100,000 entries": HostilePage(
        lambda: "<rss><channel><title>before</title>" + "<item><title>inside</title></item>" * 100_000,
        type="application/rss+xml",
    ),
}
