"""The links of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from glados.web_fetch.addresses import Addresses, written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_TEXT = 10_000_000
# Programs and data inside the page: they lead nowhere.
_NOWHERE = ("javascript:", "vbscript:", "data:", "blob:", "about:")
_FIRST = frozenset("jvdbaJVDBA")


class Link(TypedDict):
    """What a link says and where it leads."""

    text: str
    href: str


def page_links(tree: LexborHTMLParser, url: str) -> list[Link]:
    """Every `<a href>` and `<area href>` in page order, made absolute as the page's `<base>` says.

    Mail addresses, telephone numbers and places in the page are links too; `javascript:` and `data:` are not.
    """
    addresses = Addresses(page_base(tree, url))
    found = list[Link]()
    left = MAX_TEXT
    for node in tree.css("a[href],area[href]"):
        href = written(node.attrs.get("href") or "")
        if href[:1] in _FIRST and href[:11].lower().startswith(_NOWHERE):
            continue
        # Links can stand in links, and then each has the text of all that follow.
        text = node.text() if left > 0 else ""
        left -= len(text)
        found.append({"text": " ".join(text.split()) or _label(node), "href": addresses.absolute(href)})
    return found


def page_base(tree: LexborHTMLParser, url: str) -> str:
    """The address that relative ones are relative to."""
    node = tree.css_first("base[href]")
    if node is None:
        return url
    base = Addresses(url).absolute(written(node.attributes.get("href") or ""))
    return base if base.startswith(("http://", "https://")) else url


def _label(node: LexborNode) -> str:
    """What stands for the text of a link without one: for most of them an image."""
    attributes = node.attributes
    label = attributes.get("aria-label") or attributes.get("alt")
    if not label:
        image = node.css_first("img[alt]")
        label = image.attributes.get("alt") if image is not None else None
    return " ".join((label or "").split())
