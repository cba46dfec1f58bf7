"""Parsed HTML pages; the one place that loads the parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

MAX_TITLE = 300


def parse_html(text: str) -> LexborHTMLParser:
    """The tree of a page, as a browser would build it."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(text)


def page_title(tree: LexborHTMLParser) -> str | None:
    """The page's title in one line."""
    node = tree.css_first("title")
    return " ".join(node.text().split())[:MAX_TITLE] or None if node is not None else None


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
