"""The pages that are measured: a folder of NAME.source.html.gz, each with its main content in NAME.expected.html.gz."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

SOURCE, EXPECTED = ".source.html.gz", ".expected.html.gz"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and what a reader would call its content."""

    name: str
    html: str
    expected: str


def read_pages(folder: Path) -> list[Page]:
    """All pages of a folder, by name."""
    sources = sorted(folder.glob(f"*{SOURCE}"))
    return [_page(folder, path.name.removesuffix(SOURCE)) for path in sources]


def _page(folder: Path, name: str) -> Page:
    return Page(name, _text(folder / f"{name}{SOURCE}"), _text(folder / f"{name}{EXPECTED}"))


def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
