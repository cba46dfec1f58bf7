"""Parsed HTML pages; the one place that loads the parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


def parse_html(text: str) -> LexborHTMLParser:
    """The tree of a page, as a browser would build it."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(text)


def ids_around(tree: LexborHTMLParser, selector: str) -> set[int]:
    """The memory ids of the elements that match, and of everything around them."""
    around = set[int]()
    for node in tree.css(selector):
        ancestor: LexborNode | None = node
        while ancestor is not None and ancestor.mem_id not in around:
            around.add(ancestor.mem_id)
            ancestor = ancestor.parent
    return around
