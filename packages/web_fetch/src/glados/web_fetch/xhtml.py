"""XHTML as HTML: to the parser of HTML an element that closes itself is one that has only begun."""

from __future__ import annotations

import re
from html import escape

# Browsers know these to be empty, however they are written.
_EMPTY = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
# Comments are taken as a whole, so that nothing in one of them is touched; in a page that was cut the last has no end.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    r"""|<(?P<name>[A-Za-z][\w:.-]*+)(?P<attributes>(?:[^<>"'/]++|"[^"]*+"|'[^']*+'|/(?!>))*+)/>""",
    re.DOTALL,
)


def as_html(xhtml: str) -> str:
    """The same page for a parser of HTML: with end tags, and with escapes in place of CDATA sections."""
    return _MARKUP.sub(_written_out, xhtml)


def _written_out(match: re.Match[str]) -> str:
    text, name = match["text"], match["name"]
    if text is not None:
        return escape(text, quote=False)
    if name is None or name.lower() in _EMPTY:
        return match[0]
    return f"<{name}{match['attributes']}></{name}>"
