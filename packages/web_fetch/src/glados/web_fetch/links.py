"""The links of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from glados.web_fetch.addresses import Addresses, written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_TEXT = 10_000_000
# Programs and data inside the page: they lead nowhere.
_NOWHERE = ("javascript:", "vbscript:", "data:", "blob:", "about:")


class Link(TypedDict):
    """What a link says and where it leads."""

    text: str
    href: str


def page_links(tree: LexborHTMLParser, url: str) -> list[Link]:
    """Every `<a href>` and `<area href>` in page order, made absolute as the page's `<base>` says.

    Mail addresses, telephone numbers and places in the page are links too; `javascript:` and `data:` are not.
    """
    nodes = tree.css("[href]:is(a,area,base)")  # one search, because each goes over the whole page
    bases = [node for node in nodes if node.tag == "base"]
    if bases:
        nodes = [node for node in nodes if node.tag != "base"]
    addresses = Addresses(_base_of(bases[0] if bases else None, url))
    known, found, left = dict[str, str](), list[Link](), MAX_TEXT
    for node in nodes:
        href = node.attrs.get("href") or ""
        address = known.get(href)
        if address is None:
            address = known[href] = _address(addresses, href)
        if address:
            # Links can stand in links, and then each has the text of all that follow.
            text = node.text_lexbor() if left > 0 else ""
            left -= len(text)
            found.append({"text": " ".join(text.split()) or _label(node), "href": address})
    return found


def page_base(tree: LexborHTMLParser, url: str) -> str:
    """The address that relative ones are relative to."""
    return _base_of(tree.css_first("base[href]"), url)


def _base_of(node: LexborNode | None, url: str) -> str:
    if node is None:
        return url
    base = Addresses(url).absolute(written(node.attributes.get("href") or ""))
    return base if base.startswith(("http://", "https://")) else url


def _address(addresses: Addresses, href: str) -> str:
    """Where the link leads; nothing if that is nowhere."""
    address = addresses.absolute(written(href))
    return address if address.startswith("http") or not address[:11].lower().startswith(_NOWHERE) else ""


def _label(node: LexborNode) -> str:
    """What stands for the text of a link without one: for most of them an image."""
    attributes = node.attributes
    label = attributes.get("aria-label") or attributes.get("alt")
    child = node.first_child
    while not label and child is not None:
        if child.tag == "img":
            label = child.attributes.get("alt")
        child = child.next
    return " ".join((label or "").split())
