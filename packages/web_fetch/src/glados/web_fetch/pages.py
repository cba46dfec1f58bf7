"""What is converted, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from glados.web_fetch.media import Media

Content = Literal["main", "page"]


@dataclass(frozen=True, slots=True)
class Source:
    """A response as it came: where from, of which type, and its body, decompressed but not decoded."""

    url: str
    media: Media
    data: bytes


@dataclass(frozen=True, slots=True)
class Page:
    """The whole of a page in one mode, with what it says of itself.

    `alternate` is the address of a Markdown version on the same host. `removed` counts characters that nobody would
    have seen, `replaced` those that could not be decoded.
    """

    text: str
    title: str | None = None
    published: str | None = None
    alternate: str | None = None
    removed: int = 0
    replaced: int = 0
