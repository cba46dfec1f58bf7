"""Tags of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glados.web_fetch.conversion import Conversion
from glados.web_fetch.tag import ITEM, block
from glados.web_fetch.tags_block import indented

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

BULLETS = "*+-"


def whole_number(text: str | None) -> int:
    """The number that an attribute says; 1 where it says none."""
    try:
        return int(text) if text and text.isnumeric() else 1
    except ValueError:  # a character such as '³' is numeric, and no digit; and nobody counts in thousands of digits
        return 1


def enter_ordered(work: Conversion, node: LexborNode) -> None:
    """A list with numbers begins."""
    work.numbers.append(whole_number(node.attributes.get("start")))


def ordered(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A list with numbers."""
    work.numbers.pop()
    return items(work, node, text, context)


def enter_unordered(work: Conversion, node: LexborNode) -> None:
    """A list with bullets begins."""
    work.bullets += 1


def unordered(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A list with bullets."""
    work.bullets -= 1
    return items(work, node, text, context)


def items(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """The items of a list, apart from what is around it unless that is another list."""
    if context & ITEM:
        return "\n" + text.rstrip()
    behind = work.following(node)
    return f"\n\n{text}\n" if behind is not None and behind.tag not in {"ul", "ol"} else f"\n\n{text}"


def item(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """An item behind its number or bullet, its other lines indented as far."""
    parent = work.parent(node)
    if parent is not None and parent.tag == "ol":
        bullet = f"{work.numbers[-1]}. "
        work.numbers[-1] += 1
        work.spend(len(bullet) ** 2)  # so long does it take to write a number
    else:
        bullet = BULLETS[(work.bullets - 1) % len(BULLETS)] + " "
    text = text.strip()
    return f"{bullet}{indented(work, text, ' ' * len(bullet))}\n" if text else "\n"


LIST_TAGS = {
    "li": block(item, ITEM),
    "ol": block(ordered, enter=enter_ordered),
    "ul": block(unordered, enter=enter_unordered),
}
