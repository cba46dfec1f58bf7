"""markdownify, as its documentation shows it first."""

from __future__ import annotations

from markdownify import ATX, markdownify


def page(html: str) -> str:
    """The whole page as Markdown."""
    return markdownify(html, heading_style=ATX)


WORK = {"page": page}
