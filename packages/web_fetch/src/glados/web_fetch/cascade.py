"""Which of the rules about an element count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from glados.web_fetch.selectors import Part, Selector
from glados.web_fetch.style import Effect, Sight, effects, seen_with

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_INLINE = (1,)


class Rule(NamedTuple):
    """What elements look like that a selector asks for; the weightiest rule counts."""

    selector: Selector
    weight: tuple[int, ...]
    effects: list[Effect]
    sight: Sight


class Cascade:
    """Rules together; one that hides nothing may do so, that is show, wherever the element stands.

    So does one that asks for more than a rule that hides: that is what scripts add where a person opens something.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        # Most elements have much in common with others.
        self._about = dict[Part, tuple[list[Rule], list[Rule]]]()
        self._known = dict[tuple[object, ...], Sight]()
        self._around = defaultdict[object, dict[tuple[int, int], bool]](dict)

    def sight(self, node: LexborNode, kind: Part) -> Sight:
        """What the rules and its own style make of an element."""
        if kind not in self._about:
            hiding = [rule for rule in self._rules if rule.sight != "seen" and rule.selector.subject.fits(kind)]
            closed = {rule.selector.subject.names for rule in hiding}
            self._about[kind] = [rule for rule in self._rules if _shows(rule, kind, closed)], hiding
        showing, hiding = self._about[kind]
        hiding = [rule for rule in hiding if rule.selector.is_around(node, self._around[rule.selector.above])]
        style = node.attrs.get("style") or ""
        key = kind, style, *(rule.weight for rule in hiding)
        if key not in self._known:
            self._known[key] = _sight([*showing, *hiding], style)
        return self._known[key]


def _shows(rule: Rule, kind: Part, closed: Iterable[frozenset[str]]) -> bool:
    subject = rule.selector.subject
    if rule.sight != "seen" or subject.tag not in ("", kind.tag):
        return False
    return subject.names <= kind.names or any(names < subject.names for names in closed)


def _sight(rules: Sequence[Rule], style: str) -> Sight:
    said = [(rule.weight, effect) for rule in rules for effect in rule.effects]
    said += [(_INLINE, effect) for effect in effects(style)]
    said.sort(key=lambda pair: (pair[1].is_important, pair[0]))
    return seen_with(effect for _, effect in said)
