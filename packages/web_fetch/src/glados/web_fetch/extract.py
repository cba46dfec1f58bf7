"""The main content of a page: found by how its text is spread, freed of what stands around and in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glados.web_fetch.clutter import HEADINGS, clutter
from glados.web_fetch.outliner import draw, draw_part
from glados.web_fetch.scores import MIN_PARAGRAPH, best, scores

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from glados.web_fetch.outline import Outline

ENOUGH, LEAST, COVERED, NOTE = 500, 140, 0.2, 100
_HOLDS_NO_HEADING = ("table", "tbody", "tr", "ul", "ol", "dl", "p", "pre")
_SENTENCE_ENDS = (".", "!", "?", "。", "\uff01", "\uff1f")


@dataclass(frozen=True, slots=True)
class _Found:
    """A place in an outline, what does not belong to it, and how much text that leaves."""

    outline: Outline
    root: int
    clutter: list[int]
    length: int


def main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that holds the main content; what does not belong to it is taken out of the tree, the title comes in.

    None, and the tree as it was, if too little is found: then the whole page is the content. Remove hidden nodes first.
    """
    found = _content(tree)
    if found is None:
        return None
    misnamed = [node for node in found.outline.doubtful if _is_misnamed(node, found.length)]
    if misnamed:
        found = _content(tree, misnamed) or found
    root, title = found.outline.nodes[found.root], _title(found)
    if title is not None and root.first_child is not None:
        root.first_child.insert_before(title)
    notes = {node.mem_id for node in found.outline.doubtful if _is_note(node)}
    for node in found.outline.beside:
        if node.mem_id not in notes:
            node.decompose(recursive=False)
    for index in found.clutter:
        found.outline.nodes[index].decompose(recursive=False)
    return root


def _title(found: _Found) -> LexborNode | None:
    """The heading of the page, if it stands above the content and not in it."""
    outline, root = found.outline, found.root
    above = [index for index in outline.places("h1") if index < root]
    if not above or outline.count(root, "h1") or outline.tags[root] in _HOLDS_NO_HEADING:
        return None
    return outline.nodes[above[-1]] if _is_title(outline, above[-1]) else None


def _content(tree: LexborHTMLParser, kept: Sequence[LexborNode] = ()) -> _Found | None:
    outline = draw(tree, leave_out=True, kept=kept)
    return None if outline is None else _chosen(tree, outline)


def _is_misnamed(node: LexborNode, length: int) -> bool:
    """Whether it was left out for its name, and has too many words in paragraphs to be beside so much content."""
    least = max(ENOUGH, length // 2)
    part = draw_part(node) if len(node.text(strip=True)) >= least else None
    if part is None:
        return False
    return sum(part.own_text[index] for index in part.places("p")) - part.links[0] >= least


def _is_note(node: LexborNode) -> bool:
    """Whether it is what books call a sidebar: a note among the paragraphs, in words, that leads nowhere."""
    names = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
    part = draw_part(node) if "sidebar" in names.lower() else None
    if part is None or part.count(0, *HEADINGS, "input", "form"):
        return False
    return part.text[0] >= NOTE and part.link_density(0) < 0.1


def _chosen(tree: LexborHTMLParser, outline: Outline) -> _Found | None:
    found = _scored(outline)
    length = 0 if found is None else found.length
    if found is not None and length >= ENOUGH and length >= COVERED * outline.plain_text(0):
        return found
    if outline.plain_text(0) >= max(ENOUGH, 3 * length):
        # Text in many small parts, such as a table or a list: all of it is the content.
        return _whole(outline)
    if length < ENOUGH:
        # What calls itself a comment or a header may be all that there is.
        everything = draw(tree, leave_out=False)
        other = None if everything is None else _scored(everything)
        if other is not None and other.length >= max(LEAST, 1.5 * length, 2 * outline.plain_text(0)):
            return other
    if length >= LEAST:
        return found
    return _marked(outline) or (_whole(outline) if outline.plain_text(0) >= LEAST else None)


def _whole(outline: Outline) -> _Found:
    """All that is not beside the content."""
    return _Found(outline, 0, [], outline.text[0])


def _marked(outline: Outline) -> _Found | None:
    """The place that the page itself marks as its main part."""
    for tag in ("main", "article"):
        places = outline.places(tag)
        if len(places) == 1 and outline.plain_text(places[0]) >= MIN_PARAGRAPH:
            return _freed(outline, places[0])
    return None


def _freed(outline: Outline, root: int, strangers: Sequence[int] | None = None) -> _Found:
    removed = clutter(outline, root, strangers)
    return _Found(outline, root, removed, outline.text[root] - outline.length(removed))


def _scored(outline: Outline) -> _Found | None:
    found = scores(outline)
    return _freed(outline, *_joined(outline, found, best(outline, found))) if found else None


def _joined(outline: Outline, scored: dict[int, float], top: int) -> tuple[int, list[int] | None]:
    """The place of the content with its siblings that belong to it, and those that do not; None without siblings."""
    parent = outline.parents[top]
    if parent < 0:
        return top, None
    classes = outline.nodes[top].attributes.get("class")
    bonus = 0.2 * scored.get(top, 0.0)
    strangers, is_joined = list[int](), False
    for index in outline.children(parent):
        if index == top:
            continue
        is_twin = bool(classes) and outline.nodes[index].attributes.get("class") == classes
        if scored.get(index, 0.0) + bonus * is_twin >= max(10, bonus) or _continues(outline, index, top):
            is_joined = True
        elif parent == 0 or not _is_harmless(outline, index):
            strangers.append(index)
    return (parent, strangers) if is_joined else (top, None)


def _is_title(outline: Outline, index: int) -> bool:
    """A heading of the page that stands above the content."""
    is_one = outline.tags[index] == "h1" or outline.count(index, "h1") == 1
    return is_one and outline.text[index] < 300 and outline.link_density(index) < 0.2


def _is_harmless(outline: Outline, index: int) -> bool:
    """A small part without links that the page does not speak against."""
    if outline.tags[index] == "aside" or outline.weights[index] < 0:
        return False
    return outline.links[index] == 0 and not outline.count(index, "input")


def _continues(outline: Outline, index: int, top: int) -> bool:
    if index < top and not outline.count(top, "h1") and _is_title(outline, index):
        return True
    length, density = outline.text[index], outline.link_density(index)
    if length > 0.2 * outline.text[top] and density < 0.2:
        return True
    if outline.tags[index] != "p":
        return False
    if length > 80:
        return density < 0.25
    return length > 0 and density == 0 and outline.nodes[index].text().rstrip().endswith(_SENTENCE_ENDS)
