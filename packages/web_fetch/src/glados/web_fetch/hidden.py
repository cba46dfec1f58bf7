"""What a page holds and nobody sees: where instructions to a model like to hide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from glados.web_fetch.backdrop import is_known_to_be_white, stands_on_white
from glados.web_fetch.colours import attribute_colour
from glados.web_fetch.html import ids_around, tag_numbers
from glados.web_fetch.sheets import looks, readable, seen_in_blanks
from glados.web_fetch.style import sight, styled_otherwise

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_Nodes = dict[int, "LexborNode"]  # by what the parser calls them
_NEVER_SHOWN = (
    "script style template noframes noembed noscript iframe object canvas datalist dialog input video audio title desc"
    " annotation-xml"
)
_NEVER_SHOWN_XML = ("annotation", "metadata", "defs")  # to the parser any names, numbered anew in each page
# Only selectors of one element each: a descendant combinator walks up from every node, which nesting makes quadratic.
_OTHERS = "[hidden],[aria-hidden=true i],font[color]"
_SUBSTANCE = "main,article,h1,[role=main]"
_ICONS = frozenset(("a", "b", "em", "i", "img", "path", "small", "span", "sup", "svg", "use"))
_FRAME = ("html", "body")
# So many characters, and so much of the page, are no secret in it but its content.
MANY, MOST = 500, 2 / 3
FEW = 100
# What is shown all the same. Other titles than that of the page are the tooltips of drawings.
_SHOWN: dict[str | None, Callable[[LexborNode], bool]] = {
    "title": lambda node: node.parent is not None and node.parent.tag == "head",
    "dialog": lambda node: "open" in node.attributes,
    "input": lambda node: (node.attributes.get("type") or "").lower() != "hidden",
}


def remove_hidden(tree: LexborHTMLParser, *, without_scripts: bool = False) -> None:
    """Take out what a person does not see, as far as the page itself tells; other style sheets are not fetched.

    `without_scripts` is for pages that show nothing but what they have for browsers that run none: until scripts run,
    their style sheets may hide all of it.

    What a click or a search in the page opens, `<details>` and `hidden=until-found`, is there for readers and stays.
    So does what style sheets hide if it is most of the page.
    Comments stay too: they are no text.
    """
    sheets = readable(_remove_never_shown(tree, without_scripts))
    if without_scripts:
        sheets.clear()
    marked, white = _remove_by_attribute(tree, sheets)
    if sheets or white:
        is_known = is_known_to_be_white(tree, sheets)
        blank, styled = list["LexborNode"](), _Nodes()
        for node, look in looks(tree, sheets, is_white=is_known):
            if look == "blank":
                blank.append(node)
            else:
                (styled if look == "hidden" else white)[node.mem_id] = node
        styled |= _unseen_in(blank, tree, sheets)
        if styled and not _are_most(styled, tree):
            marked |= styled
        if is_known:
            known = dict[int, bool]()
            marked |= {number: node for number, node in white.items() if stands_on_white(node, known)}
    if marked:
        _remove_marked(tree, marked)


def _remove_by_attribute(tree: LexborHTMLParser, sheets: Sequence[str]) -> tuple[_Nodes, _Nodes]:
    """Take out what its own attributes hide; what is marked as nothing for screen readers, and what is white."""
    hidden, marked, white = _Nodes(), _Nodes(), _Nodes()
    blank = list["LexborNode"]()
    for node in tree.css("[style]"):
        look = sight(node.attrs.get("style") or "")
        if look == "blank":
            blank.append(node)
        elif look != "seen":
            (hidden if look == "hidden" else white)[node.mem_id] = node
    hidden |= _unseen_in(blank, tree, sheets)
    for node in tree.css(_OTHERS):
        attributes = node.attributes
        if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
            hidden[node.mem_id] = node
        elif (attributes.get("aria-hidden") or "").lower() == "true":
            marked[node.mem_id] = node
        elif sight(f"color:{attribute_colour(attributes.get('color') or '')}") == "white":
            white[node.mem_id] = node
    for node in hidden.values():
        if node.tag not in _FRAME:
            node.decompose(recursive=False)
    return _without(marked, hidden), _without(white, hidden)


def _unseen_in(blank: Sequence[LexborNode], tree: LexborHTMLParser, sheets: Sequence[str]) -> _Nodes:
    """What is not seen of elements that show nothing but what says otherwise: as a rule they as a whole."""
    if all(next(node.iter(), None) is None for node in blank):
        return {node.mem_id: node for node in blank if node.tag not in _FRAME}
    shown = [node for node in tree.css("[style]") if styled_otherwise(node.attrs.get("style") or "")]
    shown += seen_in_blanks(tree, sheets)
    kept, around = {node.mem_id for node in shown}, ids_around(shown)
    unseen, opened = _Nodes(), set[int]()
    left = [node for node in blank if node.tag not in _FRAME]
    while left:
        node = left.pop()
        if node.mem_id not in around:
            unseen[node.mem_id] = node
        elif node.mem_id not in opened:
            opened.add(node.mem_id)
            left += [child for child in node.iter(include_text=True) if child.mem_id not in kept]
    return unseen


def _without(nodes: _Nodes, others: _Nodes) -> _Nodes:
    """A node must not be taken out twice."""
    return {number: node for number, node in nodes.items() if number not in others}


def _remove_marked(tree: LexborHTMLParser, marked: _Nodes) -> None:
    """Take out what screen readers skip and style sheets hide, but not the page itself.

    Sites hide that too: while a banner is open, or until their scripts have run.
    """
    seen = ids_around(tree.css(_SUBSTANCE)) if any(node.tag not in _ICONS for node in marked.values()) else set[int]()
    for number, node in marked.items():
        if number not in seen and node.tag not in _FRAME:
            node.decompose(recursive=False)


def _are_most(nodes: _Nodes, tree: LexborHTMLParser) -> bool:
    """Whether many words stand in these, and most of the page's: scripts show those."""
    if len(nodes) <= FEW and sum(len(node.text(strip=True)) for node in nodes.values()) < MANY:
        return False  # without a look at the page; of more elements each may stand in all others
    left = [] if tree.body is None else [tree.body]
    inside, total = 0, sum(len(node.text(strip=True)) for node in left)
    while left:
        node = left.pop()
        if node.mem_id in nodes:
            inside += len(node.text(strip=True))
        else:
            left += node.iter()
    return inside >= max(MANY, MOST * total)


def _remove_never_shown(tree: LexborHTMLParser, without_scripts: bool) -> list[str]:
    """Take out what is never shown because of its tag; the style sheets that were among it."""
    if tree.root is None:
        return []
    numbers = tag_numbers(*_NEVER_SHOWN.split()).union([tree.create_node(name).tag_id for name in _NEVER_SHOWN_XML])
    sheets = list[str]()
    for node in [node for node in tree.root.traverse() if node.tag_id in numbers]:
        name = node.tag
        if name == "style":
            sheets.extend(_sheet(node))
        if name in ("video", "audio"):
            _remove_fallback(node)
        elif not (name in _SHOWN and _SHOWN[name](node)) and not (name == "noscript" and without_scripts):
            node.decompose(recursive=False)
    return sheets


def _sheet(style: LexborNode) -> list[str]:
    """The text of a style sheet, if it holds for what is on the screen."""
    text, parent = style.first_child, style.parent
    media = (style.attributes.get("media") or "all").strip().lower()
    if text is None or media not in ("all", "screen") or (parent is not None and parent.tag == "noscript"):
        return []
    return [text.text_content or ""]


def _remove_fallback(media: LexborNode) -> None:
    """Text inside is for browsers of twenty years ago."""
    child = media.first_child
    while child is not None:
        following = child.next
        if child.tag not in ("source", "track"):
            child.decompose(recursive=False)
        child = following
