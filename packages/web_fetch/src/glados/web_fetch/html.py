"""Parsed HTML pages; the one place that loads the parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# Nobody nests deeper what is to be read, and looking further up from every element would never end.
MAX_LEVELS = 100


def parse_html(text: str) -> LexborHTMLParser:
    """The tree of a page, as a browser would build it."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(text)


@cache
def tag_numbers(*names: str) -> frozenset[int]:
    """The parser's numbers of elements, because they are faster to come by than names.

    Only for those that HTML knows: any other name has another number in each page.
    """
    tree = parse_html("")
    return frozenset(tree.create_node(name).tag_id for name in names)


def ids_around(nodes: Iterable[LexborNode]) -> set[int]:
    """The memory ids of elements, and of everything around them."""
    around = set[int]()
    for node in nodes:
        ancestor: LexborNode | None = node
        while ancestor is not None and ancestor.mem_id not in around:
            around.add(ancestor.mem_id)
            ancestor = ancestor.parent
    return around


def around(node: LexborNode) -> Iterator[LexborNode]:
    """The elements that a node stands in, from the innermost on; no more than people nest."""
    ancestor = node.parent
    for _ in range(MAX_LEVELS):
        if ancestor is None or (above := ancestor.parent) is None:
            return  # what has nothing above it is no element but the document
        yield ancestor
        ancestor = above
