"""From the bytes of a response to what the model reads, in one of the three modes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from glados.web_fetch.characters import seen
from glados.web_fetch.charset import decode
from glados.web_fetch.cpu_limit import OutOfTime, warned
from glados.web_fetch.errors import UnsupportedType
from glados.web_fetch.extract import main_content
from glados.web_fetch.feed_text import feed_links, feed_markdown, plain_line
from glados.web_fetch.feeds import Feed, parse_feed, root_name
from glados.web_fetch.frameset import unframed
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.html import parse_html
from glados.web_fetch.json_text import formatted_json
from glados.web_fetch.links import Link, page_links
from glados.web_fetch.markdown import TooMuch, to_markdown
from glados.web_fetch.media import XHTML, sniffed_kind
from glados.web_fetch.metadata import MAX_TITLE, feed_published, markdown_alternate, page_published, page_title
from glados.web_fetch.pages import Content, Page, Source
from glados.web_fetch.xhtml import as_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from glados.web_fetch.settings import Mode

# So much of a page is looked at for what it says of itself, where the page itself is not converted.
HEAD = 65_536


def convert(source: Source, mode: Mode, content: Content) -> Page:
    """Decode and convert a response; what that costs the page decides, so it is called in a worker process."""
    kind = source.media.kind or sniffed_kind(source.data)
    text, replaced = decode(source.data, source.media.charset, is_markup=kind in ("html", "xml"))
    match kind:
        case "html":
            page = _page(text, mode, content, source.url, is_xml=source.media.name == XHTML)
        case "xml":
            page = _xml(text, mode, content, source)
        case "json" | "text":
            page = Page(_json(text) if kind == "json" and mode == "markdown" else text)
        case None:
            raise UnsupportedType(source.url, source.media.name)
    if mode == "links" and kind in ("json", "text"):
        page = Page("[]")
    return _seen(replace(page, replaced=replaced))


def _seen(page: Page) -> Page:
    """The page without what nobody sees, which may say other things than what is seen."""
    text, removed = seen(page.text)
    title, more = seen(page.title or "")
    return replace(page, text=text, title=title or None, removed=page.removed + removed + more)


def _page(html: str, mode: Mode, content: Content, url: str, *, is_xml: bool = False) -> Page:
    if mode == "html":
        head = html[:HEAD]
        return _described(parse_html(as_html(head) if is_xml else head), html, url)
    if is_xml:
        html = as_html(html)
    tree = parse_html(html)
    page = _described(tree, "", url)
    remove_hidden(tree)
    if _is_empty(tree):
        # A shell that scripts or frames fill: what it says to those who have neither is all that there is.
        tree = parse_html(html)
        if tree.body is None:
            tree = parse_html(unframed(tree))
        remove_hidden(tree, without_scripts=True)
    if mode == "links":
        return _links(page, page_links(tree, url))
    try:
        with warned():
            main = main_content(tree) if content == "main" else None
            return replace(page, text=_node_markdown(main or tree.body or tree.root))
    except OutOfTime:
        return replace(page, text=_words(tree.body))


def _is_empty(tree: LexborHTMLParser) -> bool:
    """Whether no word is to be seen."""
    nodes = tree.body.traverse(include_text=True) if tree.body is not None else ()
    return not any(node.tag == "-text" and (node.text_content or "").strip() for node in nodes)


def _described(tree: LexborHTMLParser, text: str, url: str) -> Page:
    """A page with what it says of itself; much of that is not shown, so it is asked before hidden nodes are removed."""
    return Page(text, page_title(tree), page_published(tree), markdown_alternate(tree, url))


def _xml(text: str, mode: Mode, content: Content, source: Source) -> Page:
    """A feed; XHTML, which some servers send as XML; and nothing else."""
    feed = parse_feed(text, source.url)
    if feed is not None:
        return _feed(feed, text, mode)
    if root_name(text) == "html":
        return _page(text, mode, content, source.url, is_xml=True)
    raise UnsupportedType(source.url, source.media.name or "XML that is no feed")


def _feed(feed: Feed, text: str, mode: Mode) -> Page:
    title = plain_line(feed.about.title)[:MAX_TITLE] or None
    page = Page(text, title, feed_published(feed.about.date))
    if mode == "links":
        return _links(page, feed_links(feed))
    return page if mode == "html" else replace(page, text=feed_markdown(feed, _markdown))


def _json(text: str) -> str:
    try:
        with warned():
            return formatted_json(text)
    except OutOfTime:
        return text


def _links(page: Page, links: list[Link]) -> Page:
    """The links as JSON; where something is unseen, it is taken out before, as JSON would keep it as an escape."""
    text = json.dumps(links, ensure_ascii=False)
    if "\\u00" not in text and seen(text)[1] == 0:
        return replace(page, text=text)
    removed = 0
    for link in links:
        for key in ("text", "href"):
            link[key], count = seen(link[key])
            removed += count
    return replace(page, text=json.dumps(links, ensure_ascii=False), removed=removed)


def _markdown(html: str) -> str:
    """A bit of HTML as Markdown."""
    tree = parse_html(html)
    remove_hidden(tree)
    return _node_markdown(tree.body)


def _node_markdown(root: LexborNode | None) -> str:
    """All that is in a node as Markdown; its words alone where Markdown would take too long."""
    try:
        return "" if root is None else to_markdown(root)
    except TooMuch:
        return _words(root)


def _words(root: LexborNode | None) -> str:
    return "" if root is None else root.text(separator="\n", strip=True)
