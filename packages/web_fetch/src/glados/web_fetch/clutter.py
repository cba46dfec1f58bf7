"""Clutter: what stands within the content and does not belong to it, judged by how it is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glados.web_fetch.outline import Outline

_LISTS = ("ul", "ol", "dl")
_JUDGED = frozenset(("div", "section", "table", "form", "fieldset", "header", *_LISTS))
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
MANY_COMMAS = 10
SUBSTANTIAL = 0.2


def clutter(outline: Outline, root: int, known: Sequence[int] = ()) -> Iterator[int]:
    """The elements below the root that do not belong to the content, and those that are known not to."""
    skipped, index, end = frozenset(known), root + 1, outline.ends[root]
    while index < end:
        if index in skipped or _is_clutter(outline, index, root):
            yield index
            index = outline.ends[index]
        else:
            index += 1


def _is_clutter(outline: Outline, index: int, root: int) -> bool:
    tag = outline.tags[index]
    if tag == "input":
        return True
    if tag == "aside":
        return not _is_note(outline, index)
    if tag not in _JUDGED:
        return False
    if outline.count(index, "h1") == 1 == len(outline.places("h1")):
        return False  # the one heading of the page, whatever its frame is called
    density = outline.link_density(index)
    share = outline.text[index] / max(outline.text[root], 1)
    if outline.weights[index] < 0 and (share < SUBSTANTIAL or density > 1 / 3):
        return True
    if outline.commas[index] >= MANY_COMMAS or (share > SUBSTANTIAL and density < 0.2):
        return False
    return _has_odd_parts(outline, index, density)


def _is_note(outline: Outline, index: int) -> bool:
    """Whether an aside is an aside of the author: words, and nothing that leads away."""
    return outline.weights[index] >= 0 and outline.link_density(index) < 0.1 and not outline.count(index, *_HEADINGS)


def _has_odd_parts(outline: Outline, index: int, density: float) -> bool:
    paragraphs, images = outline.count(index, "p"), outline.count(index, "img")
    if outline.count(index, "input") > paragraphs // 3:
        return True
    if outline.weights[index] >= 25:
        return density > 0.5
    if outline.tags[index] in _LISTS:
        return False
    if images > 1 and paragraphs / images < 0.5 and not outline.count(index, "figure"):
        return True
    if outline.text[index] < 25 and density > 0 and not 0 < images <= 2 and not outline.count(index, *_HEADINGS):
        return True
    return density > (0.33 if paragraphs > 3 else 0.2)
