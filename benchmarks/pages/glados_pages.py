"""What glados does with a page, and the bare parse that it is measured against."""

from __future__ import annotations

from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from glados.web_fetch.extract import main_content
from glados.web_fetch.hidden import remove_hidden
from glados.web_fetch.links import page_links
from glados.web_fetch.markdown import to_markdown

URL = "http://fakehost/test/page.html"


def parse(html: str) -> None:
    """The parser alone."""
    LexborHTMLParser(html)


def links(html: str) -> list[Any]:
    """Every link of the page, made absolute."""
    return list(page_links(LexborHTMLParser(html), URL))


def hidden(html: str) -> None:
    """What nobody sees, taken out."""
    remove_hidden(LexborHTMLParser(html))


def page(html: str) -> str:
    """The whole page as Markdown."""
    root = LexborHTMLParser(html).root
    return to_markdown(root) if root is not None else ""


def main(html: str) -> str:
    """The main content as Markdown."""
    node = content(LexborHTMLParser(html))
    return to_markdown(node) if node is not None else ""


def text(html: str) -> str:
    """The words of the main content."""
    node = content(LexborHTMLParser(html))
    return node.text(separator=" ") if node is not None else ""


def content(tree: LexborHTMLParser) -> LexborNode | None:
    """The main content, or the whole page where there is none."""
    remove_hidden(tree)
    return main_content(tree) or tree.root


WORK = {"parse": parse, "links": links, "hidden": hidden, "page": page, "main": main, "text": text}
