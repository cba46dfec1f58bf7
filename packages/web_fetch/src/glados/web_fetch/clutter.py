"""Clutter: what stands within the content and does not belong to it, judged by how it is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glados.web_fetch.outline import Outline

_LISTS = ("ul", "ol", "dl")
_JUDGED = frozenset(("div", "section", "table", "form", "fieldset", "header", *_LISTS))
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
MANY_COMMAS = 10
SUBSTANTIAL = 0.2
# So much text of its own makes any element a paragraph, so much text in all a chapter; so many items are a list, as of
# references or ingredients.
PARAGRAPH, CHAPTER, ITEMS = 200, 500, 5


# So little is left only where the content itself is links: an index, or a reference that links every word it can.
LITTLE, MOST = 2000, 2 / 3


def clutter(outline: Outline, root: int, known: Sequence[int] | None = None) -> list[int]:
    """The elements below the root that do not belong to the content.

    `known` are those that are known not to, where the root holds more than the content.
    """
    found = list(_found(outline, root, known or (), by_build=True))
    removed, whole = outline.length(found), outline.text[root]
    if known is None and whole - removed < LITTLE and removed > MOST * whole:
        return list(_found(outline, root, (), by_build=False))
    return found


def _found(outline: Outline, root: int, known: Sequence[int], *, by_build: bool) -> Iterator[int]:
    skipped, index, end = frozenset(known), root + 1, outline.ends[root]
    while index < end:
        if index in skipped or _is_clutter(outline, index, root, by_build=by_build):
            yield index
            index = outline.ends[index]
        else:
            index += 1


def _is_clutter(outline: Outline, index: int, root: int, *, by_build: bool) -> bool:
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
    if outline.weights[index] < 0 and (share < SUBSTANTIAL or density > 1 / 3) and not outline.count(index, "pre"):
        return True
    if not by_build or outline.commas[index] >= MANY_COMMAS or (share > SUBSTANTIAL and density < 0.2):
        return False
    return _has_odd_parts(outline, index, density)


def _is_note(outline: Outline, index: int) -> bool:
    """Whether an aside is an aside of the author: words, and nothing that leads away."""
    return outline.weights[index] >= 0 and outline.link_density(index) < 0.1 and not outline.count(index, *HEADINGS)


def _has_odd_parts(outline: Outline, index: int, density: float) -> bool:
    paragraphs, images = outline.count(index, "p"), outline.count(index, "img")
    if outline.count(index, "input") > paragraphs // 3:
        return True
    if outline.count(index, "pre"):
        return False  # code links to what it uses
    if outline.tags[index] == "table":
        return density > 0.8
    if outline.weights[index] >= 25 or outline.own_text[index] >= PARAGRAPH:
        return density > 0.5
    if outline.tags[index] in _LISTS:
        return False
    if images > 1 and paragraphs / images < 0.5 and not outline.count(index, "figure"):
        return True
    if outline.text[index] < 25 and density > 0 and not 0 < images <= 2 and not outline.count(index, *HEADINGS):
        return True
    if outline.count(index, "li") >= ITEMS or outline.plain_text(index) >= CHAPTER:
        return density > 0.5
    return density > (0.33 if paragraphs > 3 else 0.2)
