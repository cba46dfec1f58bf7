"""What a page says about itself: its title, when it was published, and where it is to be had as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from glados.web_fetch.addresses import Addresses
from glados.web_fetch.links import page_base

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_TITLE = 300
MAX_SCRIPTS, MAX_SCRIPT = 20, 200_000
MAX_ELEMENTS = 200

_PUBLISHED = re.compile(r'"datePublished"\s*:\s*("[^"\n]{4,60}")')
# In the order in which they are believed.
_NAMES = (
    "article:published_time",
    "og:published_time",
    "citation_publication_date",
    "citation_date",
    "parsely-pub-date",
    "sailthru.date",
    "dcterms.issued",
    "dcterms.created",
    "dc.date.issued",
    "dc.date.created",
    "dcterms.date",
    "dc.date",
    "pubdate",
    "publishdate",
    "publish_date",
    "publish-date",
    "publication_date",
    "date",
)
_YEARS = range(1900, 2101)


def page_title(tree: LexborHTMLParser) -> str | None:
    """The page's title in one line; only the one in its head, since elsewhere it may be hidden."""
    head = tree.head
    if head is None:
        return None
    node = head.css_first("title")
    title = " ".join(node.text().split()) if node is not None else ""
    if not title:
        node = head.css_first('meta[property="og:title" i]')
        title = " ".join((node.attributes.get("content") or "").split()) if node is not None else ""
    return title[:MAX_TITLE] or None


def page_published(tree: LexborHTMLParser) -> str | None:
    """When the page was published, as an ISO date or time, if it says so in a form that can be read.

    Much of it stands in scripts: ask before hidden nodes are removed.
    """
    return next((found for text in _claims(tree) if (found := _iso(text)) is not None), None)


def feed_published(text: str) -> str | None:
    """The same for what a feed says: Atom writes dates as ISO does, RSS as mail does."""
    text = text.strip()[:100]
    try:
        return _iso(text) or _if_likely(parsedate_to_datetime(text))
    except ValueError:
        return None


def markdown_alternate(tree: LexborHTMLParser, url: str) -> str | None:
    """Where the same host has the page as Markdown."""
    head = tree.head
    if head is None:
        return None
    for node in head.css('link[rel~="alternate" i][type="text/markdown" i][href]')[:MAX_ELEMENTS]:
        address = Addresses(page_base(tree, url)).absolute(node.attributes.get("href") or "")
        if _is_same_host(address, url):
            return address
    return None


def _claims(tree: LexborHTMLParser) -> Iterator[str]:
    """What may be the date of publication, the surest first."""
    said = _meta(tree)
    yield from (said[name] for name in _NAMES[:2] if name in said)
    for node in tree.css('script[type="application/ld+json" i]')[:MAX_SCRIPTS]:
        yield from _PUBLISHED.findall(node.text()[:MAX_SCRIPT])[:1]
    for node in tree.css('[itemprop~="datePublished" i]')[:MAX_ELEMENTS]:
        yield _value(node)
    yield from (said[name] for name in _NAMES[2:] if name in said)
    for node in tree.css("time[pubdate],time.published,time.entry-date")[:MAX_ELEMENTS]:
        yield _value(node)


def _meta(tree: LexborHTMLParser) -> dict[str, str]:
    said = dict[str, str]()
    for node in tree.head.css("meta[content]") if tree.head is not None else []:
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        said.setdefault(name, attributes.get("content") or "")
    return said


def _value(node: LexborNode) -> str:
    attributes = node.attributes
    return attributes.get("datetime") or attributes.get("content") or node.text()[:100]


def _iso(text: str) -> str | None:
    """A date or time in ISO form; None for anything else."""
    try:
        if text.startswith('"'):
            text = str(json.loads(text))
        text = text.strip().replace("/", "-")
        found = date.fromisoformat(text) if len(text) <= len("2000-01-01") else datetime.fromisoformat(text)
    except ValueError:
        return None
    return _if_likely(found)


def _if_likely(found: date) -> str | None:
    return found.isoformat() if found.year in _YEARS else None


def _is_same_host(address: str, url: str) -> bool:
    try:
        there, here = urlsplit(address), urlsplit(url)
        same = (there.hostname, there.port) == (here.hostname, here.port)
    except ValueError:
        return False
    return same and there.scheme in ("http", "https") and there.username is None and there.hostname is not None
