"""What a tag means for the conversion to Markdown: the shape of a rule, and of the context that it works in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from glados.web_fetch.conversion import Conversion

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# What a node's ancestors mean for it, as bits of its context.
INLINE: Final = 1  # in a heading or a table cell: everything on one line
NOFORMAT: Final = 2  # in code: no markup and no escapes
PRE: Final = 4  # in <pre>: white space stays as it is
ITEM: Final = 8  # in a list item
INHERITED: Final = INLINE | NOFORMAT | PRE | ITEM
BLOCK: Final = 16  # directly in a block: white space at its edges means nothing

Convert = Callable[[Conversion, "LexborNode", str, int], str]
Enter = Callable[[Conversion, "LexborNode"], None]


class Rule(NamedTuple):
    """What a tag does to its text, to what is inside of it, and to the white space around it."""

    convert: Convert | None = None
    adds: int = 0
    outside: bool = False  # white space beside it means nothing
    enter: Enter | None = None
    hides: bool = False  # its text is not for readers


def block(convert: Convert | None = None, adds: int = 0, enter: Enter | None = None) -> Rule:
    """The rule of a block: white space right inside and right outside of it means nothing."""
    return Rule(convert, BLOCK | adds, True, enter)
