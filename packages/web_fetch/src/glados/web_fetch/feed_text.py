"""A feed as Markdown: what it is about, then its entries with their dates, links and texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from glados.web_fetch.feeds import Entry, Feed
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.html import parse_html
from glados.web_fetch.links import Link

Markdown = Callable[[str], str]
_PAIRS = re.compile(r"[^()]*+(?:\([^()]*+\)[^()]*+)*+")
_BRACKETS, _ESCAPED = re.compile(r"[\[\]]"), r"\\\g<0>"


def feed_markdown(feed: Feed, markdown: Markdown) -> str:
    """The feed on one page; `markdown` converts the HTML that its texts are."""
    parts = [*_parts("#", feed.about, markdown)]
    for entry in feed.entries:
        parts += _parts("##", entry, markdown)
    return "\n\n".join(parts)


def feed_links(feed: Feed) -> list[Link]:
    """Where the entries lead."""
    return [{"text": plain_line(entry.title), "href": entry.link} for entry in feed.entries if entry.link]


def plain_line(html: str) -> str:
    """A bit of HTML as words in one line."""
    if "<" not in html and "&" not in html:
        return " ".join(html.split())
    tree = parse_html(html)
    remove_hidden(tree)
    return " ".join(tree.body.text().split()) if tree.body is not None else ""


def _parts(heading: str, entry: Entry, markdown: Markdown) -> Iterator[str]:
    title = plain_line(entry.title) or entry.link or "Untitled"
    yield f"{heading} [{_BRACKETS.sub(_ESCAPED, title)}]({_target(entry.link)})" if entry.link else f"{heading} {title}"
    if entry.date:
        yield " ".join(entry.date.split())
    if entry.body and (body := markdown(entry.body)):
        yield body


def _target(address: str) -> str:
    """An address that does not end the link that it stands in."""
    ending = r"[\s<>]" if _PAIRS.fullmatch(address) else r"[\s<>()]"
    return re.sub(ending, lambda found: quote(found[0]), address)
