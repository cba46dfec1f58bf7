"""The main content of a page: found by how its text is spread, freed of what stands around and in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glados.web_fetch.clutter import clutter
from glados.web_fetch.outliner import draw
from glados.web_fetch.scores import best, scores

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from glados.web_fetch.outline import Outline

ENOUGH, LEAST = 500, 140
_SENTENCE_ENDS = (".", "!", "?", "。", "\uff01", "\uff1f")


@dataclass(frozen=True, slots=True)
class _Found:
    """A place in an outline, what does not belong to it, and how much text that leaves."""

    outline: Outline
    root: int
    clutter: list[int]
    length: int


def main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that holds the main content; what does not belong to it is taken out of the tree.

    None, and the tree as it was, if too little is found: then the whole page is the content. Remove hidden nodes first.
    """
    found = _found(tree, leave_out=True)
    if found is None or found.length < ENOUGH:
        # What calls itself a comment or a header may be all that there is.
        with_all = _found(tree, leave_out=False)
        if found is None or (with_all is not None and with_all.length > 1.5 * found.length):
            found = with_all
    if found is None or found.length < LEAST:
        return None
    for node in found.outline.beside:
        node.decompose(recursive=False)
    for index in found.clutter:
        found.outline.nodes[index].decompose(recursive=False)
    return found.outline.nodes[found.root]


def _found(tree: LexborHTMLParser, *, leave_out: bool) -> _Found | None:
    outline = draw(tree, leave_out=leave_out)
    if outline is None:
        return None
    scored = scores(outline)
    if not scored:
        return None
    root, strangers = _joined(outline, scored, best(outline, scored))
    removed = list(clutter(outline, root, strangers))
    return _Found(outline, root, removed, outline.text[root] - sum(outline.text[index] for index in removed))


def _joined(outline: Outline, scored: dict[int, float], top: int) -> tuple[int, list[int]]:
    """The place of the content with its siblings that belong to it, and those that do not."""
    parent = outline.parents[top]
    if parent < 0:
        return top, []
    classes = outline.nodes[top].attributes.get("class")
    bonus = 0.2 * scored.get(top, 0.0)
    strangers, is_joined = list[int](), False
    for index in outline.children(parent):
        if index == top:
            continue
        is_twin = bool(classes) and outline.nodes[index].attributes.get("class") == classes
        if scored.get(index, 0.0) + bonus * is_twin >= max(10, bonus) or _continues(outline, index, top):
            is_joined = True
        else:
            strangers.append(index)
    return (parent, strangers) if is_joined else (top, [])


def _continues(outline: Outline, index: int, top: int) -> bool:
    length, density = outline.text[index], outline.link_density(index)
    if length > 0.2 * outline.text[top] and density < 0.2:
        return True
    if outline.tags[index] != "p":
        return False
    if length > 80:
        return density < 0.25
    return length > 0 and density == 0 and outline.nodes[index].text().rstrip().endswith(_SENTENCE_ENDS)
