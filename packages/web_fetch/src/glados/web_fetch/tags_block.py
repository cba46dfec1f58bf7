"""Tags of blocks: paragraphs, headings, quotations, definitions, preformatted text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from glados.web_fetch.conversion import UNITS_PER_STEP, Conversion
from glados.web_fetch.tag import INLINE, Convert, Rule, block

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# The gaps between words are looked at one by one; words are short.
UNITS_IN_WORDS = 20

SPACES = re.compile(r"[\t \r\n]+")
HEADING = re.compile(r"h(\d+)")
EMPTY_LINE = re.compile(r"\n(?=\n)")
LINE_WITH_TEXT = re.compile(r"\n(?!\n)")


def indented(work: Conversion, text: str, indent: str) -> str:
    """Every line but the first and the empty ones behind an indent."""
    lines = text.count("\n")
    if not lines:
        return text
    work.spend(lines * (UNITS_PER_STEP + len(indent)))
    return LINE_WITH_TEXT.sub("\n" + indent, text)


def one_line(work: Conversion, text: str) -> str:
    """A text with single spaces between its words."""
    work.spend(len(text) * UNITS_IN_WORDS)
    return SPACES.sub(" ", text)


def division(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A part of the page, with empty lines around it."""
    text = text.strip()
    if context & INLINE:
        return f" {text} "
    return f"\n\n{text}\n\n" if text else ""


def paragraph(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A paragraph, with empty lines around it; its hard spaces stay."""
    text = text.strip(" \t\r\n")
    if context & INLINE:
        return f" {text} "
    return f"\n\n{text}\n\n" if text else ""


def heading(level: int) -> Convert:
    """A heading of a level, of which Markdown has six."""
    begin = f"\n\n{'#' * max(1, min(6, level))} "

    def convert(work: Conversion, node: LexborNode, text: str, context: int) -> str:
        return text if context & INLINE else f"{begin}{one_line(work, text.strip())}\n\n"

    return convert


def blockquote(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A quotation: a mark before every line, also before the empty ones."""
    text = text.strip(" \t\r\n")
    if context & INLINE:
        return f" {text} "
    if not text:
        return "\n"
    return f"\n> {EMPTY_LINE.sub(chr(10) + '>', indented(work, text, '> '))}\n\n"


def term(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A term that is defined."""
    text = one_line(work, text.strip())
    if context & INLINE:
        return f" {text} "
    return f"\n\n{text}\n" if text else "\n"


def definition(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """What a term means, indented behind a colon."""
    text = text.strip()
    if context & INLINE:
        return f" {text} "
    return f":   {indented(work, text, '    ')}\n" if text else "\n"


def rule_line(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A line across the page."""
    return "\n\n---\n\n"


def caption(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """What a table is called."""
    return text.strip() + "\n\n"


def figure_caption(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """What a figure is called."""
    return f"\n\n{text.strip()}\n\n"


def nothing(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """What is not for readers."""
    return ""


def heading_rule(level: int) -> Rule:
    """The rule of a heading of a level."""
    return block(heading(level), INLINE)


DIVISION = block(division)
HIDDEN = Rule(nothing, hides=True)

BLOCK_TAGS = {
    "article": DIVISION,
    "blockquote": block(blockquote),
    "caption": Rule(caption),
    "dd": block(definition),
    "div": DIVISION,
    "dl": DIVISION,
    "dt": block(term),
    "figcaption": Rule(figure_caption),
    **{f"h{level}": heading_rule(level) for level in range(1, 7)},
    "hr": Rule(rule_line),
    "p": block(paragraph),
    "script": HIDDEN,
    "section": DIVISION,
    "style": HIDDEN,
}
