"""Scores: how much speaks for each element of an outline being the one that holds the content."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glados.web_fetch.outline import Outline

MIN_PARAGRAPH = 25
_TEXT = "p td pre div section article main blockquote dd h2 h3 h4 h5 h6 figcaption"
_PARAGRAPHS = frozenset(_TEXT.split())
_LEVELS = (1.0, 0.5, 1 / 6, 1 / 9, 1 / 12)
_START = {
    **dict.fromkeys(("main", "article"), 10),
    "div": 5,
    "section": 2,
    **dict.fromkeys(("pre", "td", "blockquote"), 3),
    **dict.fromkeys(("address", "ol", "ul", "dl", "dd", "dt", "li", "form"), -3),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "th"), -5),
}


def scores(outline: Outline) -> dict[int, float]:
    """The score of every element that has paragraphs somewhere not far below it.

    A paragraph speaks for the elements around it, the nearest most; text of links speaks against.
    """
    found = dict[int, float]()
    for index, length in enumerate(outline.own_text):
        if length < MIN_PARAGRAPH or outline.tags[index] not in _PARAGRAPHS:
            continue
        points = 1 + outline.own_commas[index] + min(length // 100, 3)
        above = outline.parents[index]
        for share in _LEVELS:
            if above < 0:
                break
            if above not in found:
                found[above] = _START.get(outline.tags[above], 0) + outline.weights[above]
            found[above] += points * share
            above = outline.parents[above]
    for index in found:
        found[index] *= 1 - outline.link_density(index)
    return found


def best(outline: Outline, scores: dict[int, float]) -> int:
    """The element that holds the content."""
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    top = _around_rivals(outline, scores, ranked[:RIVALS])
    top = _around_prose(outline, _risen(outline, scores, top))
    parent = outline.parents[top]
    while parent > 0 and outline.text[parent] == outline.text[top]:
        top, parent = parent, outline.parents[parent]
    return top


# Content in several parts of about the same score stands in what is around them.
RIVALS, PARTS, NEARLY = 5, 3, 0.75


def _around_rivals(outline: Outline, scores: dict[int, float], ranked: list[int]) -> int:
    top = ranked[0]
    rivals = [index for index in ranked if scores[index] >= NEARLY * scores[top]]
    rivals = [index for index in rivals if not any(index < other < outline.ends[index] for other in rivals)]
    if len(rivals) < PARTS:
        return top
    above = outline.parents[top]
    while above > 0:
        if sum(above < rival < outline.ends[above] for rival in rivals) >= PARTS:
            return above
        above = outline.parents[above]
    return top


def _risen(outline: Outline, scores: dict[int, float], top: int) -> int:
    """Further up, as soon as the score rises again: more of the content stands there."""
    last = scores.get(top, 0.0)
    least, above = last / 3, outline.parents[top]
    while above > 0:
        score = scores.get(above)
        if score is not None:
            if score < least:
                return top
            if score > last:
                return above
            last = score
        above = outline.parents[above]
    return top


# Around the best part of the content: so much more text, and so few of it links, is more of the content.
MORE, FEW_LINKS = 0.25, 0.05


def _around_prose(outline: Outline, top: int) -> int:
    """Further up, as long as there is much text without links: the other chapters, or the rest of the article."""
    above = outline.parents[top]
    while above > 0:
        text = outline.text[above] - outline.text[top]
        if text >= MORE * outline.text[top] and outline.links[above] - outline.links[top] < FEW_LINKS * text:
            top = above
        above = outline.parents[above]
    return top
