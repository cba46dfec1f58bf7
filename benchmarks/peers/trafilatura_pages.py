"""trafilatura."""

# pyright: reportMissingImports=false

from __future__ import annotations

import trafilatura


def main(html: str) -> str:
    """The main content as Markdown."""
    return trafilatura.extract(html, output_format="markdown", include_links=True, include_formatting=True) or ""


def text(html: str) -> str:
    """The words of the main content."""
    return trafilatura.extract(html) or ""


WORK = {"main": main, "text": text}
