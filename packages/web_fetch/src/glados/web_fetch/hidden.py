"""What a page holds and nobody sees: where instructions to a model like to hide."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from glados.web_fetch.html import ids_around

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_STYLE = 2000
MEMORY = 1024
# Only selectors of one element each: a descendant combinator walks up from every node, which nesting makes quadratic.
_NEVER_SHOWN = (
    "script,style,template,noframes,noembed,iframe,object,canvas,datalist,annotation,annotation-xml,"
    "title,desc,metadata,defs,dialog:not([open]),input[type=hidden i],video,audio"
)
_WITH_SCRIPTS = f"noscript,{_NEVER_SHOWN}"
_MAYBE_HIDDEN = "[hidden],[style],[aria-hidden=true i]"
_SUBSTANCE = "main,article,h1,[role=main]"
_ICONS = frozenset(("a", "b", "em", "i", "img", "path", "small", "span", "sup", "svg", "use"))


def remove_hidden(tree: LexborHTMLParser, *, without_scripts: bool = False) -> None:
    """Take out what a person does not see, as far as the page itself tells; style sheets are not read.

    `without_scripts` is for pages that show nothing but what they have for browsers that run none.

    What a click or a search in the page opens, `<details>` and `hidden=until-found`, is there for readers and stays.
    Comments stay too: they are no text.
    """
    for node in tree.css(_NEVER_SHOWN if without_scripts else _WITH_SCRIPTS):
        tag = node.tag
        if tag in ("video", "audio"):
            _remove_fallback(node)
        elif tag != "title" or not _is_of_page(node):
            node.decompose(recursive=False)
    marked = list["LexborNode"]()
    for node in tree.css(_MAYBE_HIDDEN):
        if node.tag in ("html", "body"):
            continue
        attributes = node.attributes
        if _is_hidden(attributes):
            node.decompose(recursive=False)
        elif (attributes.get("aria-hidden") or "").lower() == "true":
            marked.append(node)
    _remove_marked(tree, marked)


def _remove_marked(tree: LexborHTMLParser, marked: list[LexborNode]) -> None:
    """Take out what screen readers skip, but not the page itself: sites mark it too, while a banner is open."""
    seen = ids_around(tree, _SUBSTANCE) if any(node.tag not in _ICONS for node in marked) else set[int]()
    for node in marked:
        if node.mem_id not in seen:
            node.decompose(recursive=False)


@lru_cache(MEMORY)
def hides(style: str) -> bool:
    """Whether a `style` attribute keeps its element from being seen."""
    style = style[:MAX_STYLE].lower()
    if not any(sign in style for sign in _SIGNS):
        return False
    if "\\" in style:
        style = _ESCAPE.sub(_unescaped, style)
    if "/*" in style:
        style = _COMMENT.sub(" ", style)
    sizes, colours = set[str](), dict[str, str]()
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in _HIDING and _HIDING[name].match(value) is not None:
            return True
        if name in _SIZES and _SIZES[name].match(value) is not None:
            sizes.add(name.removesuffix("-x").removesuffix("-y"))
        if name in ("color", "background", "background-color"):
            colours[name.removesuffix("-color")] = value
    if colours.get("color", "") == colours.get("background"):
        return True
    # Videos are given their height by a padding and nothing else.
    return "overflow" in sizes and len(sizes) > 1 and "padding" not in style


def _is_of_page(title: LexborNode) -> bool:
    """Other titles are the tooltips of drawings."""
    return title.parent is not None and title.parent.tag == "head"


def _remove_fallback(media: LexborNode) -> None:
    """Text inside is for browsers of twenty years ago."""
    child = media.first_child
    while child is not None:
        following = child.next
        if child.tag not in ("source", "track"):
            child.decompose(recursive=False)
        child = following


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and hides(style)


# Most styles hide nothing, and none of these is in them.
_SIGNS = ("none", "hidden", "collapse", "opacity", "color", "font", "clip", "scale", ":-", " -", "(-", "\\", "/*")
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
_NOTHING = r"\s*(?:0(?:px)?|1px|auto)\s*,?"
_HIDING = {
    **dict.fromkeys(["display"], re.compile("none")),
    **dict.fromkeys(["visibility", "content-visibility"], re.compile("hidden|collapse")),
    **dict.fromkeys(["color"], re.compile(_TRANSPARENT)),
    **dict.fromkeys(["filter"], re.compile(rf"opacity\(\s*{_ZERO}")),
    **dict.fromkeys(["opacity"], re.compile(rf"{_ZERO}|0?\.0\d")),
    **dict.fromkeys(["font-size"], re.compile(rf"{_ZERO}|(?:0?\.\d+|1(?:\.\d+)?)px")),
    **dict.fromkeys(["font"], re.compile(r"(?:[\w-]+\s+){0,4}0(?:px|r?em|pt|%)?[\s/]")),
    **dict.fromkeys(["left", "top", "right", "bottom", "text-indent"], re.compile(_OUTSIDE)),
    **dict.fromkeys(["margin", "margin-left", "margin-top", "inset"], re.compile(_FAR_OUTSIDE)),
    **dict.fromkeys(["transform"], re.compile(rf"scale[xy]?\(\s*{_ZERO}|translate(?:[xy]|3d)?\(\s*{_FAR_OUTSIDE}")),
    **dict.fromkeys(["clip"], re.compile(rf"rect\((?:{_NOTHING}){{4}}\)")),
    **dict.fromkeys(["clip-path"], re.compile(r"inset\(\s*(?:50|100)%|circle\(\s*0")),
}
_SIZES = {
    **dict.fromkeys(["width", "height", "max-width", "max-height"], re.compile(f"{_ZERO}|1px")),
    **dict.fromkeys(["overflow", "overflow-x", "overflow-y"], re.compile("hidden|clip")),
}


def _unescaped(match: re.Match[str]) -> str:
    code, character = match.groups()
    if code is None:
        return character
    number = int(code, 16)
    return chr(number) if 0 < number < 0xD800 else "\ufffd"
