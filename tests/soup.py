"""The rule book at work by itself: markdownify on a Beautiful Soup tree that is the parser's tree, node by node."""

from __future__ import annotations

from bs4 import BeautifulSoup, Comment, Tag
from bs4.element import NavigableString
from selectolax.lexbor import LexborNode

from glados.web_fetch.gfm import GfmConverter


def by_the_book(root: LexborNode) -> str:
    """What `to_markdown` has to say of a node, byte by byte; recursive, and slow where pages are odd."""
    return GfmConverter().convert_soup(soup_of(root)).strip()


def soup_of(root: LexborNode) -> BeautifulSoup:
    """A document with a copy of a node and of all that is inside of it."""
    soup = BeautifulSoup("", "html.parser")
    waiting: list[tuple[LexborNode | None, Tag]] = [(root.first_child, _append(soup, soup, root))]
    while waiting:
        node, parent = waiting.pop()
        while node is not None:
            copy = _append(soup, parent, node)
            if node.first_child is not None:
                waiting += [(node.next, parent), (node.first_child, copy)]
                break
            node = node.next
    return soup


def _append(soup: BeautifulSoup, parent: Tag, node: LexborNode) -> Tag:
    copy: NavigableString | Tag
    if node.is_text_node:
        copy = NavigableString(node.text_content or "")
    elif node.is_element_node:
        copy = soup.new_tag(node.tag or "", attrs={name: value or "" for name, value in node.attributes.items()})
    else:
        copy = Comment((node.html or "").removeprefix("<!--").removesuffix("-->"))
    parent.append(copy)
    return copy if isinstance(copy, Tag) else parent
