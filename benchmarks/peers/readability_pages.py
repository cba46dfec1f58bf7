"""readability-lxml, and markdownify for what it finds."""

# pyright: reportMissingImports=false

from __future__ import annotations

from lxml.html import fromstring
from markdownify import ATX, markdownify
from readability import Document


def main(html: str) -> str:
    """The main content as Markdown."""
    return markdownify(Document(html).summary(), heading_style=ATX)


def text(html: str) -> str:
    """The words of the main content."""
    return " ".join(fromstring(Document(html).summary()).itertext())


WORK = {"main": main, "text": text}
