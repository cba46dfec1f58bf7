"""The links of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from glados.web_fetch.addresses import Addresses, leads_nowhere
from glados.web_fetch.html import tag_numbers

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_TEXT = 10_000_000


class Link(TypedDict):
    """What a link says and where it leads."""

    text: str
    href: str


def page_links(tree: LexborHTMLParser, url: str) -> list[Link]:
    """Every `<a href>` and `<area href>` in page order, made absolute as the page's `<base>` says.

    Mail addresses, telephone numbers and places in the page are links too; `javascript:` and `data:` are not.
    """
    nodes = tree.css("[href]:is(a,area,base)")  # one search, because each goes over the whole page
    (base,) = tag_numbers("base")
    bases = [node for node in nodes if node.tag_id == base]
    absolute = Addresses(_base_of(bases[0], url) if bases else url).absolute
    found, left = list[Link](), MAX_TEXT
    for node in nodes:
        address = absolute(node.attrs.get("href") or "")
        if (address[:4] != "http" and leads_nowhere(address)) or (bases and node.tag_id == base):
            continue
        text = ""
        if left > 0:  # links can stand in links, and then each has the text of all that follow
            text = node.text_lexbor()
            left -= len(text)
        found.append({"text": " ".join(text.split()) or _label(node), "href": address})
    return found


def page_base(tree: LexborHTMLParser, url: str) -> str:
    """The address that relative ones are relative to."""
    node = tree.css_first("base[href]")
    return _base_of(node, url) if node is not None else url


def _base_of(node: LexborNode, url: str) -> str:
    base = Addresses(url).absolute(node.attributes.get("href") or "")
    try:
        is_usable = bool(urlsplit(base).hostname) and base.startswith(("http://", "https://"))
    except ValueError:
        is_usable = False
    return base if is_usable else url


def _label(node: LexborNode) -> str:
    """What stands for the text of a link without one: for most of them an image."""
    attributes = node.attrs
    label = attributes.get("aria-label") or attributes.get("alt")
    (image,), child = tag_numbers("img"), node.first_child
    while not label and child is not None:
        if child.tag_id == image:
            label = child.attrs.get("alt")
        child = child.next
    return " ".join(label.split()) if label else ""
