"""Pages of frames: they have no body, only other pages, and words for browsers that show none."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


def unframed(tree: LexborHTMLParser) -> str:
    """The same page with a link to each of its frames, as HTML."""
    parts = list[str]()
    for node in tree.css("frame[src],noframes"):
        if node.tag == "noframes":
            parts.append(node.text())  # to the parser what is in it is text
            continue
        source, attributes = node.attributes.get("src") or "", node.attributes
        label = attributes.get("title") or attributes.get("name") or source
        parts.append(f'<p><a href="{escape(source)}">{escape(label)}</a></p>')
    return "".join(parts)
