"""Selectors of CSS, as far as they ask for tags, classes and ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from glados.web_fetch.html import around

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_NAME = re.compile(r"[.#](?:--|-?[^\W\d]|\\[^\w\s])(?:[\w-]|\\[^\w\s])*")
_TO_ESCAPE = re.compile(r"[^\w-]")
# A state or an attribute that is asked for as well: nobody knows whether that holds. Generated content is no element.
_STATE = r"(:(?!:|before|after)[\w-]+(?:\([^)]*\))?|\[[^\]]*\])*"
_SUBJECT = re.compile(rf"(?:^|[\s>+~])(([a-z][\w-]*)?((?:{_NAME.pattern})+)){_STATE}$", re.IGNORECASE)
_TAG = re.compile(r"(?:^|[\s>+~])[a-z]", re.IGNORECASE)
_PART = re.compile(rf"(:root|[a-z][\w-]*|\*)?((?:{_NAME.pattern})*)", re.IGNORECASE)
# All of a page stands in these, and scripts name them for the state that it is in.
_ROOTS = ("html", "body", ":root", "*")


class Part(NamedTuple):
    """What one element must be, or is: a tag, or "" for any, and names such as `.class` and `#id`, with escapes."""

    tag: str
    names: frozenset[str]

    @classmethod
    def of(cls, node: LexborNode) -> Part:
        """What an element is."""
        attributes = node.attrs
        names = [f".{_escaped(name)}" for name in (attributes.get("class") or "").split()]
        identity = attributes.get("id")
        return cls(node.tag or "", frozenset([*names, f"#{_escaped(identity)}"] if identity else names))

    def fits(self, other: Part) -> bool:
        """Whether an element that is so is asked for."""
        return self.names <= other.names and self.tag in ("", other.tag)


class Selector(NamedTuple):
    """What an element must be, and what it must stand in; `above` is None where that, or more, cannot be told."""

    css: str
    subject: Part
    above: tuple[Part, ...] | None
    weight: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> Selector | None:
        """A selector, if it names the element that it asks for."""
        text = text.strip()
        found = _SUBJECT.search(text)
        if found is None:
            return None
        subject = Part((found[2] or "").lower(), frozenset(_NAME.findall(found[3])))
        above = _above(text[: found.start(1)]) if found[4] is None else None
        return cls(found[1], subject, above, (text.count("#"), text.count("."), len(_TAG.findall(text))))

    def is_around(self, node: LexborNode, known: dict[tuple[int, int], bool]) -> bool:
        """Whether the element stands in what it must stand in; `known` is for other elements in the same page."""
        if not self.above:
            return self.above is not None
        missing, seen, answer = list(self.above), list[tuple[int, int]](), False
        for element in around(node):
            key = element.mem_id, len(missing)
            if element.tag in _ROOTS or key in known:
                answer = known.get(key, False)
                break
            seen.append(key)
            if missing[-1].fits(Part.of(element)):
                missing.pop()
                if not missing:
                    answer = True
                    break
        known.update(dict.fromkeys(seen, answer))
        return answer


def _escaped(name: str) -> str:
    """A name as style sheets write it."""
    return _TO_ESCAPE.sub(r"\\\g<0>", name)


def _above(text: str) -> tuple[Part, ...] | None:
    parts = list[Part]()
    if not text:
        return ()
    for piece in re.split(r"[\s>]+", text):
        found = _PART.fullmatch(piece)
        if found is None:
            return None
        if piece and piece.lower() not in _ROOTS:
            parts.append(Part((found[1] or "").lower().strip("*"), frozenset(_NAME.findall(found[2]))))
    return tuple(parts)
