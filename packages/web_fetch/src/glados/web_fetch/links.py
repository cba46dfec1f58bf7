"""The links of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urljoin

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


class Link(TypedDict):
    """What a link says and where it leads."""

    text: str
    href: str


def page_links(tree: LexborHTMLParser, url: str) -> list[Link]:
    """Every `<a href>` in page order, made absolute."""
    base = _base(tree, url)
    return [
        {"text": " ".join(node.text().split()), "href": _absolute(base, node.attributes.get("href") or "")}
        for node in tree.css("a[href]")
    ]


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    base = _absolute(url, node.attributes.get("href") or "") if node is not None else url
    return base if base.startswith(("http://", "https://")) else url


def _absolute(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:  # such as an unclosed bracket: what the page says is all there is
        return href.strip()
