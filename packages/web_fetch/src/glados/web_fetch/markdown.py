"""HTML to Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glados.web_fetch.conversion import Conversion, TooMuch

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["TooMuch", "to_markdown"]


def to_markdown(root: LexborNode) -> str:
    """An element and all that is inside of it as Markdown; raises `TooMuch` where that would never end."""
    from glados.web_fetch.walk import walk  # with it comes markdownify, which costs a start more than all else here

    return walk(root, Conversion(root)).strip()
