"""One walk over a tree, without recursion, that puts Markdown together from the leaves up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from glados.web_fetch.conversion import Conversion
from glados.web_fetch.tag import BLOCK, INHERITED, NOFORMAT, PRE, Rule
from glados.web_fetch.tags import known_rules, rule_of

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Numbers that the parser has for nodes that are no elements; those of elements are higher.
TEXT: Final = 2
COMMENT: Final = 4

LINE_START = re.compile(r"\n[ \n]+")
GAP = re.compile(r" {2,}")


def walk(root: LexborNode, work: Conversion) -> str:
    """The Markdown of an element."""
    rules = known_rules().copy()
    outer: list[tuple[LexborNode, Rule, list[str], int]] = []  # the open elements, each with what stands before it
    parts: list[str] = []  # the Markdown so far of what is in the innermost of them
    context = 0
    beside = 0  # whether white space here would stand at the edge of a block
    node: LexborNode | None = root
    while True:
        while node is None:
            text = "".join(parts)
            work.spend(len(text))
            node, rule, parts, context = outer.pop()
            add(parts, rule.convert(work, node, text, context) if rule.convert is not None else text, context)
            if not outer:
                return "".join(parts)
            beside = rule.outside
            node = node.next
        tag = node.tag_id
        if tag == TEXT:
            text, behind = node.text_content or "", node.next
            after = _edge(behind, rules, context)
            if not ((beside or after) and text.isspace()):
                add(parts, _text(text, context, beside, after), context)
            beside = 0 if text else context & BLOCK
            node = behind
            continue
        rule = rules.get(tag) or _rule(node, rules)
        if rule.enter is not None:
            rule.enter(work, node)
        child = _first_element(node) if rule.hides else node.first_child
        if child is not None or not outer:
            outer.append((node, rule, parts, context))
            parts, context = [], context & INHERITED | rule.adds
            beside, node = context & BLOCK, child
            continue
        if rule.convert is not None:
            add(parts, rule.convert(work, node, "", context), context)
        beside, node = rule.outside if tag > COMMENT else _edge(node, rules, context), node.next


def add(parts: list[str], text: str, context: int) -> None:
    """Add a text; no more than two new lines separate what ends and what begins with some, except in <pre>."""
    if not text:
        return
    if text[0] != "\n" or context & PRE:
        parts.append(text)
        return
    body = text.lstrip("\n")
    if parts and (last := parts[-1]) and last[-1] == "\n":
        parts[-1] = kept = last.rstrip("\n")
        two = len(last) - len(kept) > 1 or len(text) - len(body) > 1
        text = "\n\n" + body if two else "\n" + body
    parts.append(text)
    if not body:
        parts.append("")  # new lines that stand alone are not counted with those behind them


def _rule(node: LexborNode, rules: dict[int, Rule]) -> Rule:
    """The rule of a node; one that is met for the first time is kept."""
    rule = rules.get(node.tag_id)
    if rule is None:
        rule = rules[node.tag_id] = rule_of(node.tag or "")
    return rule


def _first_element(node: LexborNode) -> LexborNode | None:
    """What there is to walk in an element whose text is not for readers."""
    child = node.first_child
    while child is not None and child.tag_id == TEXT:
        child = child.next
    return child


def _edge(node: LexborNode | None, rules: dict[int, Rule], context: int) -> int:
    """Whether white space beside a sibling means nothing: beside a block, and where a block begins or ends."""
    if node is None:
        return context & BLOCK
    tag = node.tag_id
    if tag > COMMENT:
        return (rules.get(tag) or _rule(node, rules)).outside
    # markdownify takes an empty text or comment for none at all.
    return 0 if node.text_content or (tag != TEXT and node.html != "<!---->") else context & BLOCK


def _text(text: str, context: int, before: int, after: int) -> str:
    """A text as Markdown: single spaces and new lines, none at the edges of blocks, and marks escaped."""
    if before:
        text = text.lstrip(" \t\r\n")
    if after:
        text = text.rstrip()
    if not context & PRE:
        text = _single_spaces(text)
    if not context & NOFORMAT:
        if "*" in text:
            text = text.replace("*", r"\*")
        if "_" in text:
            text = text.replace("_", r"\_")
    return text


def _single_spaces(text: str) -> str:
    """White space with a new line in it is one new line, other white space is one space."""
    if "\t" in text:
        text = text.replace("\t", " ")
    if "\r" in text:
        text = text.replace("\r", "\n")
    if "\n" in text:
        text = LINE_START.sub("\n", text)
    if "  " in text:
        text = GAP.sub(" ", text)
    return text.replace(" \n", "\n")
