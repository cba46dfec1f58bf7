"""Style sheets in a page, as far as they hide parts of it; those that the page only links to are not fetched.

What hides is searched for first, because sheets are long and nearly all of their rules hide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from glados.web_fetch.cascade import Cascade, Rule
from glados.web_fetch.selectors import Part, Selector
from glados.web_fetch.style import Sight, effects, says_otherwise, seen_with

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_SHEETS = 50_000
MAX_RULES, MAX_NAMES = 100, 100
# What a declaration that hides has in it, and what that is a part of. Words are searched for because that is fast.
_SIGNS = {
    "none": re.compile(r"display\s*:\s*none"),
    "hidden": re.compile(r"visibility\s*:\s*hidden"),
    "collapse": re.compile(r"visibility\s*:\s*collapse"),
    "opacity": re.compile(r"opacity[\s:(]*(?:0(?!\.?0*[1-9])|\.0|0\.0)"),
    "clip": re.compile(r"[^-]clip(?:-path)?\s*:"),
    "font-size": re.compile(r"font-size\s*:\s*(?:[0.]|1(?:\.\d+)?p[xt]|2px|\d(?:\.\d+)?%)"),
    "transparent": re.compile(r"(?:[^-]|fill-)color\s*:\s*transparent"),
    "scale": re.compile(r"scale[xy]?\(\s*0"),
    "-999": re.compile("-999"),
    "-1000": re.compile("-1000"),
}
_AROUND = 40  # so many characters before and behind the word
_SHOWING = {"font": re.compile("font"), "visibility": re.compile("visibility")}
_COLOUR = {"color": re.compile(r"[^-]color\s*:")}
# Comments and strings, in which braces are no braces.
_ASIDE = re.compile(r"""/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'""", re.DOTALL)
# Nobody has to write a letter so.
_LETTER = re.compile(r"\\0{0,4}([46][1-9a-f]|[57][0-9a])(?![0-9a-f])\s?", re.IGNORECASE)
# At-rules whose content holds on a screen of any size.
_ON_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:all|screen)|layer\b.*|supports\b.*)\s*", re.IGNORECASE)


def looks(
    tree: LexborHTMLParser, sheets: Sequence[str], *, is_white: bool = False
) -> Iterator[tuple[LexborNode, Sight]]:
    """The elements that rules hide, and that neither another rule nor their own style shows all the same.

    `is_white` asks for those with white text too.
    """
    wanted = ("hidden", "blank", "white") if is_white else ("hidden", "blank")
    signs = {**_SIGNS, **_COLOUR} if is_white else _SIGNS
    suspects = _rules(sheets, lambda sheet: _with_signs(sheet, signs))
    hiding = [rule for rule in suspects if rule.sight in wanted and rule.selector.above is not None][:MAX_RULES]
    nodes = tree.css(",".join({rule.selector.css for rule in hiding})) if hiding else []
    if not nodes:
        return
    kinds = [Part.of(node) for node in nodes]
    names = sorted({name for kind in kinds for name in kind.names})[:MAX_NAMES]
    properties = {effect.property.removesuffix("?") for rule in hiding for effect in rule.effects if effect.value}
    if any("color" in property for property in properties):
        properties.add("background-clip")
    others = _rules(sheets, lambda sheet: _with_names(sheet, names, properties))
    cascade = Cascade([*hiding, *(rule for rule in others if rule.sight == "seen")])
    for node, kind in zip(nodes, kinds, strict=True):
        if kind.names.issubset(names) and (look := cascade.sight(node, kind)) in wanted:
            yield node, look


def seen_in_blanks(tree: LexborHTMLParser, sheets: Sequence[str]) -> list[LexborNode]:
    """The elements that rules show in others that are blank."""
    rules = _rules(sheets, lambda sheet: _with_signs(sheet, _SHOWING))
    names = list({rule.selector.css: None for rule in rules if says_otherwise(rule.effects)})
    return tree.css(",".join(names[:MAX_RULES])) if names else []


def readable(sheets: Sequence[str]) -> list[str]:
    """The sheets without comments, strings and escaped letters.

    None if they are too long: what one hides another may show.
    """
    return [_bare(sheet) for sheet in sheets] if sum(map(len, sheets)) <= MAX_SHEETS else []


def _bare(sheet: str) -> str:
    sheet = _LETTER.sub(lambda found: chr(int(found[1], 16)), _ASIDE.sub("", sheet))
    return sheet.replace("<![CDATA[", "").replace("<!--", "") if "<!" in sheet else sheet


def _rules(sheets: Iterable[str], find: Callable[[str], Iterable[int]]) -> Iterator[Rule]:
    """The rules whose declarations begin at the places that are found."""
    for number, sheet in enumerate(sheets):
        depth = place = 0
        for brace in sorted(set(find(sheet))):
            depth += sheet.count("{", place, brace) - sheet.count("}", place, brace)
            place, start = brace, 0
            for mark in "}{;":
                start = max(start, 1 + sheet.rfind(mark, start, brace))
            selectors = [selector for text in sheet[start:brace].split(",") if (selector := Selector.parse(text))]
            found = effects(sheet[brace + 1 : _end(sheet, brace)]) if selectors else []
            if not found:
                continue
            look = seen_with(found)
            # Of rules for some screens only, nobody knows whether they hold.
            is_known = depth == 0 or (depth == 1 and _is_on_screen(sheet, brace))
            for selector in selectors:
                told = selector if is_known else selector._replace(above=None)
                yield Rule(told, (0, *selector.weight, number, brace), found, look)


def _end(sheet: str, brace: int) -> int:
    """Where the declarations end that begin here: the end of a sheet closes all, and rules may stand in rules."""
    end = sheet.find("}", brace)
    inner = sheet.find("{", brace + 1, end if end >= 0 else len(sheet))
    return inner if inner >= 0 else end if end >= 0 else len(sheet)


def _is_on_screen(sheet: str, place: int) -> bool:
    """Whether the at-rule around a place holds."""
    start = sheet.rfind("@", 0, place)
    return start >= 0 and _ON_SCREEN.fullmatch(sheet, start, sheet.find("{", start)) is not None


def _with_signs(sheet: str, signs: Mapping[str, re.Pattern[str]]) -> Iterator[int]:
    """Where the declarations begin that may hide something."""
    lower = sheet.lower()
    sheet = lower if len(lower) == len(sheet) else sheet
    for word, sign in signs.items():
        place, brace = sheet.find(word), -1
        while place >= 0:
            if sign.search(sheet, max(0, place - _AROUND), place + _AROUND) is not None:
                brace = max(brace, sheet.rfind("{", brace + 1, place))
                if brace >= 0:
                    yield brace
            place = sheet.find(word, place + len(word))


def _with_names(sheet: str, names: Iterable[str], properties: Collection[str]) -> Iterator[int]:
    """Where the declarations of rules begin that name one of these names, and one of these properties."""
    for name in names:
        place = sheet.find(name)
        while place >= 0:
            place += len(name)
            brace = sheet.find("{", place)
            is_whole = brace >= 0 and not sheet[place].isalnum() and sheet[place] not in "-_"
            if is_whole and any(sheet.find(each, brace, _end(sheet, brace)) >= 0 for each in properties):
                yield brace
            place = sheet.find(name, place)
