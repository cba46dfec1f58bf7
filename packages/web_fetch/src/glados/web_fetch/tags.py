"""Every tag that means something in Markdown, and its rule."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from glados.web_fetch.conversion import Conversion
from glados.web_fetch.gfm import GfmConverter
from glados.web_fetch.tag import INLINE, ITEM, NOFORMAT, PRE, Convert, Rule
from glados.web_fetch.tags_block import BLOCK_TAGS, HEADING, heading_rule
from glados.web_fetch.tags_inline import INLINE_TAGS
from glados.web_fetch.tags_list import LIST_TAGS
from glados.web_fetch.tags_table import TABLE_TAGS

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

TAGS = {**INLINE_TAGS, **BLOCK_TAGS, **LIST_TAGS, **TABLE_TAGS, "pre": Rule(None, PRE | NOFORMAT, True)}
BOOK = GfmConverter()
OVERRIDDEN = [name.removeprefix("convert_") for name in vars(GfmConverter) if name.startswith("convert_")]
# The names by which the rule book knows what a node's ancestors mean for it.
CONTEXT_NAMES = {INLINE: "_inline", NOFORMAT: "_noformat", PRE: "pre", ITEM: "li"}
NO_RULE = Rule()


class BookElement:
    """A node as the rule book sees it."""

    def __init__(self, work: Conversion, node: LexborNode) -> None:
        self._work = work
        self._node = node

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an attribute; one without a value is empty."""
        attributes = self._node.attributes
        return attributes[key] or "" if key in attributes else default

    @property
    def next_sibling(self) -> str | None:
        """The text behind the node, if there is one."""
        behind = self._work.behind(self._node)
        return behind.text_content if behind is not None else None

    def find(self, name: str) -> BookElement | None:
        """The first element of that name inside."""
        found = next(self._work.inside(self._node, name), None)
        return BookElement(self._work, found) if found is not None else None


def by_the_book(name: str) -> Convert:
    """The rule of a tag that the rule book has a method of its own for."""
    method = getattr(BOOK, f"convert_{name}")

    def convert(work: Conversion, node: LexborNode, text: str, context: int) -> str:
        names = {known for bit, known in CONTEXT_NAMES.items() if context & bit}
        return method(BookElement(work, node), text, names)

    return convert


@cache
def known_rules() -> dict[int, Rule]:
    """The rules by the numbers that the parser has for tags."""
    from selectolax.lexbor import LexborHTMLParser

    rules = TAGS | {name: TAGS.get(name, NO_RULE)._replace(convert=by_the_book(name)) for name in OVERRIDDEN}
    parser = LexborHTMLParser("")
    return {parser.create_node(name).tag_id: rule for name, rule in rules.items()}


def rule_of(name: str) -> Rule:
    """The rule of a tag that the parser has no number for: a heading if it is named like one."""
    level = HEADING.match(name)
    return heading_rule(int(level[1])) if level and BOOK.get_conv_fn(name) else NO_RULE
