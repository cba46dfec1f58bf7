"""Parsed HTML pages; the one place that loads the parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


def parse_html(text: str) -> LexborHTMLParser:
    """The tree of a page, as a browser would build it."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(text)


def page_text(tree: LexborHTMLParser) -> str:
    """The words of a page and nothing else."""
    body = tree.body
    if body is None:
        return ""
    body.strip_tags(["script", "style", "template", "noscript"], recursive=True)
    return body.text(separator="\n", strip=True)


def plain_line(html: str) -> str:
    """A bit of HTML as words in one line."""
    if "<" not in html and "&" not in html:
        return " ".join(html.split())
    body = parse_html(html).body
    return " ".join(body.text().split()) if body is not None else ""


def ids_around(tree: LexborHTMLParser, selector: str) -> set[int]:
    """The memory ids of the elements that match, and of everything around them."""
    around = set[int]()
    for node in tree.css(selector):
        ancestor: LexborNode | None = node
        while ancestor is not None and ancestor.mem_id not in around:
            around.add(ancestor.mem_id)
            ancestor = ancestor.parent
    return around
