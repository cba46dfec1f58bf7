"""What stands behind the text of a page, as far as the page itself tells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glados.web_fetch.colours import WHITE, are_alike, attribute_colour
from glados.web_fetch.html import around
from glados.web_fetch.style import papers

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_ELSEWHERE = 'link[rel~="stylesheet" i]'


def is_known_to_be_white(tree: LexborHTMLParser, sheets: Iterable[str]) -> bool:
    """Whether there are no other sheets, and these give nothing another background than white."""
    is_complete = tree.css_first(_ELSEWHERE) is None and not any("@import" in sheet for sheet in sheets)
    return is_complete and all(_is_white(sheet) for sheet in sheets)


def stands_on_white(node: LexborNode, known: dict[int, bool]) -> bool:
    """Whether neither the element nor what it stands in has a background that is not white.

    `known` is for other elements in the same page.
    """
    seen, answer = list[int](), True
    for element in (node, *around(node)):
        if element.mem_id in known:
            answer = known[element.mem_id]
            break
        seen.append(element.mem_id)
        if not _has_white(element):
            answer = False
            break
    known.update(dict.fromkeys(seen, answer))
    return answer


def _has_white(node: LexborNode) -> bool:
    attributes = node.attributes
    style, colour = attributes.get("style") or "", attribute_colour(attributes.get("bgcolor") or "")
    if "background" in attributes or (colour and not _is_white(f"background:{colour}")):
        return False
    return "background" not in style.lower() or _is_white(style)


def _is_white(style: str) -> bool:
    return all(isinstance(paper, tuple) and are_alike(paper, WHITE) for paper in papers(style))
