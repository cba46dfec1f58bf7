"""Draws the outline of a page: one walk over its nodes, without recursion, since nesting has no limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glados.web_fetch.html import ids_around, tag_numbers
from glados.web_fetch.outline import Outline
from glados.web_fetch.words import hint

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_NODES = 500_000
_TEXT, _COMMENT = 2, 4
# What holds no text to read, and what says by its tag that it is beside the content.
_SKIPPED = frozenset(("svg", "select", "button", "textarea", "option", "iframe", "object", "embed", "canvas"))
_BESIDE = frozenset(("nav", "footer", "menu"))
# Parts of a line: their text belongs to the block around them. All other elements count as blocks.
_INLINE = (
    "abbr acronym area b bdi bdo big br center cite code col colgroup data del dfn em font hr i ins kbd label map mark"
    " math nobr output picture q rp rt ruby s samp small source span strike strong sub sup time track tt u var wbr"
)
# Whatever their names say, these are where content stands.
_CONTENT = "a article body h1 html img main pre table tbody td tfoot th thead tr"
_KEPT = frozenset(_CONTENT.split())
# These are headers whatever surrounds them, and their ids are their own words.
_HEADINGS = frozenset(("h2", "h3", "h4", "h5", "h6"))
# A button in one of these unfolds what is below, and its text is the title of that.
_TITLES = _HEADINGS | {"dt", "summary"}
# More bytes for each character than this: a script that needs half as many characters for the same words.
_WIDE = 2.3
_COMMAS = (",", "\uff0c", "、", "،", "。")
# Places of elements that are no blocks. Links inside the page, as in a table of contents, count for a third.
_INSIDE_LINE, _LINK, _IN_PAGE_LINK = -1, -2, -3


def draw(
    tree: LexborHTMLParser, *, leave_out: bool, kept: Iterable[LexborNode] = (), max_nodes: int = MAX_NODES
) -> Outline | None:
    """The outline of the page's body, with or without what says itself that it is beside the content.

    What is to be kept is not left out, whatever its names say. None for a page with too many nodes: nobody wrote that
    for readers.
    """
    if tree.body is None:
        return None
    trusted = ids_around(tree.css("h1")) | {node.mem_id for node in kept} if leave_out else set[int]()
    return _drawn(tree.body, leave_out, trusted, max_nodes)


def draw_part(node: LexborNode) -> Outline | None:
    """The outline of a part of the page, whatever it is called."""
    return _drawn(node, True, {node.mem_id}, MAX_NODES)


def _drawn(root: LexborNode, leave_out: bool, trusted: set[int], max_nodes: int) -> Outline | None:
    outliner = _Outliner(leave_out, trusted)
    return outliner.outline if outliner.walk(root, max_nodes) else None


class _Outliner:
    def __init__(self, leave_out: bool, trusted: set[int]) -> None:
        self.outline = Outline()
        self._leave_out = leave_out
        self._trusted = trusted
        self._skipped = _SKIPPED | _BESIDE if leave_out else _SKIPPED
        self._names = dict[int, str]()
        self._text = self._links = self._commas = 0
        self._block = -1
        self._link_starts = list[int]()

    def walk(self, root: LexborNode, max_nodes: int) -> bool:
        """Whether the end was reached within so many nodes."""
        inline = tag_numbers(*_INLINE.split())
        above = list[tuple["LexborNode", int]]()
        node = root
        for _ in range(max_nodes):
            tag = node.tag_id
            child = None
            if tag == _TEXT:
                text = node.text_content
                if text and not text.isspace():
                    self._read(text)
            elif tag != _COMMENT:
                place = _INSIDE_LINE if tag in inline else self._enter(node, tag)
                if place is not None:
                    child = node.first_child
                    if child is not None:
                        above.append((node, place))
                    elif place != _INSIDE_LINE:
                        self._leave(place)
            while child is None:
                if not above:
                    return True
                child = node.next
                if child is None:
                    node, place = above.pop()
                    if place != _INSIDE_LINE:
                        self._leave(place)
            node = child
        return False

    def _read(self, text: str) -> None:
        length = len(text.strip())
        if text.isascii():
            commas = text.count(",")
        else:
            commas = sum(map(text.count, _COMMAS))
            if len(text.encode("utf-8", "replace")) > _WIDE * len(text):
                length *= 2
        self._text += length
        self._commas += commas
        self.outline.own_text[self._block] += length
        self.outline.own_commas[self._block] += commas

    def _enter(self, node: LexborNode, number: int) -> int | None:
        """The element's place in the outline; None if it is left out."""
        tag = self._names.get(number)
        if tag is None:
            tag = self._names[number] = _name(node)
        if tag in self._skipped:
            if tag == "button" and self._block >= 0 and self.outline.tags[self._block] in _TITLES:
                return _INSIDE_LINE
            self.outline.beside.append(node)
            return None
        attributes = node.attributes
        if tag == "a":
            return self._enter_link(attributes.get("href"))
        if not attributes:
            return self._add(node, tag, 0)
        if tag == "input" and (attributes.get("type") or "").lower() == "checkbox":
            return _INSIDE_LINE
        classes, identity, role = attributes.get("class"), attributes.get("id"), attributes.get("role")
        if tag in _HEADINGS:
            classes, identity = (classes or "").lower().replace("header", ""), None
        if not (classes or identity or role):
            return self._add(node, tag, 0)
        said = hint(classes or "", identity or "", role or "")
        if said.is_beside and self._leave_out and tag not in _KEPT and node.mem_id not in self._trusted:
            self.outline.beside.append(node)
            if said.is_doubtful:
                self.outline.doubtful.append(node)
            return None
        # Where nothing is left out, no name speaks against an element either.
        return self._add(node, tag, said.weight if self._leave_out else max(said.weight, 0))

    def _enter_link(self, href: str | None) -> int:
        if href is None:
            return _INSIDE_LINE
        self._link_starts.append(self._text)
        return _IN_PAGE_LINK if href.startswith("#") else _LINK

    def _add(self, node: LexborNode, tag: str, weight: int) -> int:
        outline = self.outline
        place = len(outline.nodes)
        outline.nodes.append(node)
        outline.tags.append(tag)
        outline.parents.append(self._block)
        outline.ends.append(place)
        # Where it begins; what was read in between becomes the amount when the element is left.
        outline.text.append(self._text)
        outline.links.append(self._links)
        outline.commas.append(self._commas)
        outline.own_text.append(0)
        outline.own_commas.append(0)
        outline.weights.append(weight)
        self._block = place
        return place

    def _leave(self, place: int) -> None:
        if place < 0:
            length = self._text - self._link_starts.pop()
            self._links += length if place == _LINK else length // 3
            return
        outline = self.outline
        outline.ends[place] = len(outline.nodes)
        outline.text[place] = self._text - outline.text[place]
        outline.links[place] = self._links - outline.links[place]
        outline.commas[place] = self._commas - outline.commas[place]
        self._block = outline.parents[place]


def _name(node: LexborNode) -> str:
    """The element's tag; those that sites invent are as good as a `<div>`."""
    tag = node.tag or "div"
    return "div" if "-" in tag else tag
