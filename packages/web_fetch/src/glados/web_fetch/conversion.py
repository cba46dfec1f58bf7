"""One conversion to Markdown: what its rules share, and how much work it may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Every level of a page copies the text below it, and lists and quotations make it longer: what nests without end grows
# without end. A unit of work is a character copied; real pages take less than ten for each byte of theirs.
WORK_PER_BYTE: Final = 40
# Small pages may nest as they like: this much work is done in about half a second.
WORK_AT_LEAST: Final = 300_000_000
# A line or a node that is looked at in Python costs about as much as copying this many characters.
UNITS_PER_STEP: Final = 200


class TooMuch(Exception):
    """The page nests so deeply, or spans so much, that its Markdown would be far longer than its text."""

    def __init__(self) -> None:
        super().__init__("The page nests too deeply to be written in Markdown; use its plain text instead.")


class Conversion:
    """The state that rules share while a tree is walked."""

    __slots__ = ("bullets", "cells", "headed", "left", "numbers", "plain_cells", "root", "rows")

    def __init__(self, root: LexborNode) -> None:
        self.root = root.mem_id  # nothing above or beside it is a part of the conversion
        self.left = WORK_AT_LEAST + WORK_PER_BYTE * len(root.parser.raw_html)
        self.bullets = 0  # open lists with bullets
        self.numbers = list[int]()  # the next number of every open list with numbers
        self.cells = 0  # table cells so far; one that spans columns counts as often
        self.plain_cells = 0  # cells so far that head nothing
        self.rows = list[tuple[int, int]]()  # how many cells and plain cells there were when each open row began
        self.headed = dict[int, bool]()  # tables that were searched for a head

    def spend(self, amount: int) -> None:
        """Account for work, before it is done."""
        self.left -= amount
        if self.left < 0:
            raise TooMuch

    def parent(self, node: LexborNode) -> LexborNode | None:
        """The parent of a node."""
        return None if node.mem_id == self.root else node.parent

    def behind(self, node: LexborNode) -> LexborNode | None:
        """The next sibling of a node."""
        return None if node.mem_id == self.root else node.next

    def is_first(self, node: LexborNode) -> bool:
        """Whether no element stands before a node in its parent."""
        before = None if node.mem_id == self.root else node.prev
        while before is not None and not before.is_element_node:
            before = before.prev
        return before is None

    def following(self, node: LexborNode) -> LexborNode | None:
        """The next sibling with content: an element, or text that is more than white space."""
        behind = self.behind(node)
        while behind is not None and not behind.is_element_node:
            if (behind.text_content or "").strip():
                break
            behind = behind.next
        return behind

    def inside(self, node: LexborNode, name: str) -> Iterator[LexborNode]:
        """The elements of a name inside a node, in page order."""
        start = node.mem_id
        for inner in node.traverse():
            self.spend(UNITS_PER_STEP)
            if inner.tag == name and inner.mem_id != start:
                yield inner
