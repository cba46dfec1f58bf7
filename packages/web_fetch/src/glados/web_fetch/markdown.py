"""HTML to Markdown."""

from __future__ import annotations

import warnings


def to_markdown(html: str) -> str | None:
    """The page as Markdown; None where the converter cannot follow it."""
    from bs4 import MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning
    from markdownify import ATX, markdownify

    # The parser warns of pages that look like XML or a file name; nobody reads it, the page is what it is.
    for category in (MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning):
        warnings.filterwarnings("ignore", category=category)
    try:
        return markdownify(html, heading_style=ATX).strip()
    except Exception:  # nesting that is too deep, a list that starts at '³': whoever wrote the page chooses the error
        return None
