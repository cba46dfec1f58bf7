"""The outline of a page: its elements in page order, and how much text and links each of them holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


@dataclass(slots=True)
class Outline:
    """Lists that run in parallel, one item for each element: an object for each would take longer than the parser.

    An element's descendants are the elements from the next one up to its end.
    """

    nodes: list[LexborNode] = field(default_factory=list["LexborNode"])
    tags: list[str] = field(default_factory=list[str])
    parents: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    text: list[int] = field(default_factory=list[int])
    """How many characters of text stand inside; those of scripts without letters and spaces count twice."""
    links: list[int] = field(default_factory=list[int])
    """How many of them are text of links."""
    commas: list[int] = field(default_factory=list[int])
    own_text: list[int] = field(default_factory=list[int])
    """How many of them stand in no other block inside."""
    own_commas: list[int] = field(default_factory=list[int])
    weights: list[int] = field(default_factory=list[int])
    """What the names of classes and ids say for or against the element."""
    beside: list[LexborNode] = field(default_factory=list["LexborNode"])
    """What was left out, because it says itself that it is not the content."""
    doubtful: list[LexborNode] = field(default_factory=list["LexborNode"])
    """Those of them that may not have meant it."""
    _places: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def children(self, index: int) -> Iterator[int]:
        """The elements directly below one."""
        child = index + 1
        while child < self.ends[index]:
            yield child
            child = self.ends[child]

    def count(self, index: int, *tags: str) -> int:
        """How many elements of these tags stand inside."""
        found, end = 0, self.ends[index]
        for tag in tags:
            places = self.places(tag)
            found += bisect_left(places, end) - bisect_left(places, index + 1)
        return found

    def places(self, tag: str) -> list[int]:
        """All elements of a tag."""
        places = self._places.get(tag)
        if places is None:
            places = self._places[tag] = [place for place, other in enumerate(self.tags) if other == tag]
        return places

    def link_density(self, index: int) -> float:
        """The share of the text that is text of links."""
        return self.links[index] / self.text[index] if self.text[index] else 0.0

    def length(self, indices: Iterable[int]) -> int:
        """How much text stands in these elements together."""
        return sum(self.text[index] for index in indices)

    def plain_text(self, index: int) -> int:
        """How much text is no link."""
        return self.text[index] - self.links[index]
