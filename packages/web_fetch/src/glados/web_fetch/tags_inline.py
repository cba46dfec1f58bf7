"""Tags inside a line: emphasis, code, links, pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from glados.web_fetch.conversion import Conversion
from glados.web_fetch.tag import INLINE, NOFORMAT, Convert, Rule

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

BACKTICKS = re.compile(r"`+")


def around(text: str, inner: str, begin: str, end: str) -> str:
    """Markup around a text without its outer spaces, which stay outside of it."""
    if text[0] == " ":
        begin = " " + begin
    return begin + inner + end + (" " if text[-1] == " " else "")


def marked(mark: str) -> Convert:
    """The same mark on both sides."""

    def convert(work: Conversion, node: LexborNode, text: str, context: int) -> str:
        if context & NOFORMAT:
            return text
        inner = text.strip()
        return around(text, inner, mark, mark) if inner else ""

    return convert


def code(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A code span, with more backticks around it than there are in it."""
    if context & NOFORMAT:
        return text
    inner = text.strip()
    if not inner:
        return ""
    if "`" not in inner:
        return around(text, inner, "`", "`")
    mark = "`" * (max(map(len, BACKTICKS.findall(inner))) + 1)
    return around(text, f" {inner} ", mark, mark)


def link(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A link; one that shows its own address is an autolink, one that leads nowhere is its text."""
    if context & NOFORMAT:
        return text
    inner = text.strip()
    if not inner:
        return ""
    attributes = node.attributes
    href, title = attributes.get("href"), attributes.get("title")
    if not href:
        return inner
    if not title:
        if inner.replace(r"\_", "_") == href:
            return f"<{href}>"
        return around(text, inner, "[", f"]({href})")
    return around(text, inner, "[", f"]({href}{quoted(title)})")


def quoted(title: str) -> str:
    """A title as it stands behind an address."""
    return ' "' + title.replace('"', r"\"") + '"'


def image(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A picture; on a line that takes none, what is said instead of it."""
    attributes = node.attributes
    alt = attributes.get("alt") or ""
    if context & INLINE:
        return alt
    title = attributes.get("title")
    return f"![{alt}]({attributes.get('src') or ''}{quoted(title) if title else ''})"


def video(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A link to the film, shown by its poster if there is one."""
    if context & INLINE:
        return text
    attributes = node.attributes
    source, poster = attributes.get("src") or first_source(work, node), attributes.get("poster")
    picture = f"![{text}]({poster})" if poster else ""
    if source:
        return f"[{picture or text}]({source})"
    return picture or text


def first_source(work: Conversion, node: LexborNode) -> str | None:
    """The address in the first `<source>` of a film that has one."""
    for source in work.inside(node, "source"):
        attributes = source.attributes
        if "src" in attributes:
            return attributes["src"]
    return None


def line_break(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """A new line, or a space where there can be only one line."""
    return text + " " if context & INLINE else "  \n" + text


def quotation(work: Conversion, node: LexborNode, text: str, context: int) -> str:
    """Quotation marks."""
    return f'"{text}"'


CODE = Rule(code, NOFORMAT)
STRONG = Rule(marked("**"))
EMPHASIS = Rule(marked("*"))
DELETED = Rule(marked("~~"))
PLAIN = Rule(marked(""))

INLINE_TAGS = {
    "a": Rule(link),
    "b": STRONG,
    "br": Rule(line_break),
    "code": CODE,
    "del": DELETED,
    "em": EMPHASIS,
    "i": EMPHASIS,
    "img": Rule(image),
    "kbd": CODE,
    "q": Rule(quotation),
    "s": DELETED,
    "samp": CODE,
    "strong": STRONG,
    "sub": PLAIN,
    "sup": PLAIN,
    "video": Rule(video),
}
