"""Declarations of CSS, as far as they keep an element from being seen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from glados.web_fetch.colours import WHITE, Colour, are_alike, colour

MEMORY, REMEMBERED = 2048, 500
# White text is not seen either where nothing gives it another background, which an element alone cannot tell. What is
# blank may hold elements that say otherwise, and those are seen.
Sight = Literal["seen", "hidden", "white", "blank"]
_INK, _PAPER, _PICTURE, _CLIP = "color", "background", "picture", "background-clip"


# What is inside inherits these, and may say otherwise.
BLANKING = frozenset(("font-size?", "visibility?"))


class Effect(NamedTuple):
    """What a declaration does: whether its value hides the element; of colours, which."""

    property: str
    value: bool | Colour | str
    is_important: bool


def sight(style: str) -> Sight:
    """What a `style` attribute makes of its element."""
    return _remembered(style) if len(style) <= REMEMBERED else seen_with(effects(style))


def seen_with(declared: Iterable[Effect]) -> Sight:
    """What declarations make of an element; of each property the last one counts."""
    last = {effect.property: effect.value for effect in declared}
    ink, paper = last.pop(_INK, None), last.pop(_PAPER, None)
    paper = last.pop(_PICTURE, None) or paper
    if last.pop(_CLIP, False):  # the letters are cut out of the background
        last.pop("color?", None)
        last.pop("-webkit-text-fill-color?", None)
    if hiding := {name for name, value in last.items() if value}:
        return "blank" if hiding <= BLANKING else "hidden"
    if ink is None or paper is None:
        return "white" if isinstance(ink, tuple) and are_alike(ink, WHITE) else "seen"
    if isinstance(ink, tuple) and isinstance(paper, tuple):
        return "hidden" if are_alike(ink, paper) else "seen"
    return "hidden" if ink == paper else "seen"


def says_otherwise(declared: Iterable[Effect]) -> bool:
    """Whether an element that declares so is seen in one that is blank."""
    return any(effect.property in BLANKING and not effect.value for effect in declared)


def styled_otherwise(style: str) -> bool:
    """The same for a `style` attribute."""
    return _OTHERWISE.search(style) is not None and says_otherwise(effects(style))


def effects(style: str) -> list[Effect]:
    """What the declarations do to whether the element is seen, in their order; all others are left out."""
    style = style.lower()
    if "\\" in style:
        style = _ESCAPE.sub(_unescaped, style)
    if "/*" in style:
        style = _COMMENT.sub(" ", style)
    found, sizes = list[Effect](), set[str]()
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip()
        if name not in _KNOWN:
            continue
        value, important, _ = value.strip().partition("!")
        if name in _HIDING:
            hides = _HIDING[name].match(value) is not None and not (name in _ENTERING and _MOVES.search(style))
            found.append(Effect(f"{name}?", hides, bool(important)))
        if name in _COLOURS:
            is_paper = _COLOURS[name] == _PAPER
            found += [Effect(_COLOURS[name], named, bool(important)) for named in _named(value.strip(), is_paper)]
        elif name in _CLIPS:
            found.append(Effect(_CLIP, value.startswith("text"), bool(important)))
        elif name in _SIZES and _SIZES[name].match(value) is not None:
            sizes.add(name.removesuffix("-x").removesuffix("-y"))
        if name in _PICTURES:
            found.append(Effect(_PICTURE, "picture" if "url(" in value or "gradient(" in value else False, False))
    if "overflow" in sizes and len(sizes) > 1 and _SIZED.search(style) is None:
        found.append(Effect("overflow", True, False))
    return found


def papers(text: str) -> list[Colour | str]:
    """The backgrounds that declarations name, also those of a whole sheet."""
    return [paper for value in _BACKGROUND.findall(text.lower()) for paper in _named(value.strip(), True)]


@lru_cache(MEMORY)
def _remembered(style: str) -> Sight:
    return seen_with(effects(style)) if _SIGN.search(style) is not None else "seen"


def _named(value: str, is_paper: bool) -> list[Colour | str]:
    """The colour that is named, if one is; as text where it cannot be told, as of pictures and what is seen through."""
    if not value or _NO_COLOUR.match(value) is not None:
        return []
    known = colour(value) if "(" not in value or value.startswith(("rgb", "hsl")) else None
    return [value if is_paper and _SHEER.match(value) is not None else known or value]


# Most styles hide nothing, and none of these is in them.
_SIGN = re.compile(r"none|hidden|collapse|opacity|color|font|clip|scale|[:( ]-|\\|/\*", re.IGNORECASE)
_OTHERWISE = re.compile(r"font|visibility|\\", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.DOTALL)

_ZERO = r"[-+]?(?:0+(?:\.0*)?|\.0+)(?:px|r?em|ex|ch|pt|%|v[wh])?(?![\w.%])"
# Pages are centred with margins of some hundred pixels, and with half of their width: that is on the screen.
_OUTSIDE = r"-(?:\d{3,}(?:\.\d+)?(?:px|pt|%|v[wh])?|[2-9]\d(?:\.\d+)?(?:r?em|v[wh]))"
_FAR_OUTSIDE = r"-(?:\d{4,}(?:\.\d+)?(?:px|pt)?|\d{3,}(?:\.\d+)?(?:%|r?em|v[wh]))"
# The fourth number of a colour is how much of it is seen.
_TRANSPARENT = (
    r"transparent|#(?:[0-9a-f]{3}0|[0-9a-f]{6}00)(?![0-9a-f])"
    r"|(?:rgb|hsl)a?\((?:(?:[^,)]*,){3}|[^/)]*/)\s*(?:0+(?:\.0*)?|\.0+)%?\s*\)"
)
_TINY = r"(?:0?\.\d+|1(?:\.\d+)?)p[xt]|2px|0?\.[01]\d*r?em|\d(?:\.\d+)?%"
_NOTHING = r"\s*(?:0(?:px)?|1px|auto)\s*,?"
_HIDING = {
    **dict.fromkeys(["display"], re.compile("none")),
    **dict.fromkeys(["visibility", "content-visibility"], re.compile("hidden|collapse")),
    **dict.fromkeys(["color", "-webkit-text-fill-color"], re.compile(_TRANSPARENT)),
    **dict.fromkeys(["filter"], re.compile(rf"opacity\(\s*{_ZERO}")),
    **dict.fromkeys(["opacity"], re.compile(rf"{_ZERO}|0?\.0\d|\d(?:\.\d+)?%")),
    **dict.fromkeys(["font-size"], re.compile(rf"{_ZERO}|{_TINY}")),
    **dict.fromkeys(["font"], re.compile(r"(?:[\w-]+\s+){0,4}0(?:px|r?em|pt|%)?[\s/]")),
    **dict.fromkeys(["left", "top", "right", "bottom", "text-indent"], re.compile(_OUTSIDE)),
    **dict.fromkeys(["margin", "margin-left", "margin-top", "inset"], re.compile(_FAR_OUTSIDE)),
    **dict.fromkeys(
        ["transform"], re.compile(rf".*?\bscale[xy]?\(\s*{_ZERO}|.*?\btranslate(?:[xy]|3d)?\(\s*{_FAR_OUTSIDE}")
    ),
    **dict.fromkeys(["clip"], re.compile(rf"rect\((?:{_NOTHING}){{4}}\)")),
    **dict.fromkeys(["clip-path"], re.compile(r"inset\(\s*(?:50|100)%|circle\(\s*0")),
}
_SIZES = {
    **dict.fromkeys(["width", "height", "max-width", "max-height"], re.compile(f"{_ZERO}|1px")),
    **dict.fromkeys(["overflow", "overflow-x", "overflow-y"], re.compile("hidden|clip")),
}
_COLOURS = {"color": _INK, "background": _PAPER, "background-color": _PAPER}
_PICTURES = ("background", "background-image")
_CLIPS = ("background-clip", "-webkit-background-clip")
_KNOWN = frozenset((*_HIDING, *_SIZES, *_COLOURS, *_PICTURES, *_CLIPS))
# What is on its way into view, when a script or time comes to it, is there for readers.
_ENTERING = ("opacity", "visibility")
_MOVES = re.compile("animation|transition|translate|will-change")
# Videos are given their height by a padding, columns and cells of tables their width by what is left, and nothing else.
_SIZED = re.compile("padding|min-|flex|text-overflow|table-cell")
_BACKGROUND = re.compile(r"background(?:-color|-image)?\s*:([^;}]*)")
_NO_COLOUR = re.compile(f"none|inherit|initial|unset|currentcolor|{_TRANSPARENT}")
# What is behind such a background is seen through it.
_SHEER = re.compile(
    r"#(?:[0-9a-f]{3}[0-9a-e]|[0-9a-f]{6}(?!ff)[0-9a-f]{2})(?![0-9a-f])"
    r"|(?:rgb|hsl)a?\((?:(?:[^,)]*,){3}|[^/)]*/)\s*+(?!1(?:\.0*)?\s*\)|100%)"
)


def _unescaped(match: re.Match[str]) -> str:
    code, character = match.groups()
    if code is None:
        return character
    number = int(code, 16)
    return chr(number) if 0 < number < 0xD800 else "\ufffd"
