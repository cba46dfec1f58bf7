"""From the bytes of a response to what the model reads, in one of the three modes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glados.web_fetch.charset import decode
from glados.web_fetch.errors import UnsupportedType
from glados.web_fetch.html import page_text, page_title, parse_html
from glados.web_fetch.links import links_json, page_links
from glados.web_fetch.markdown import to_markdown
from glados.web_fetch.media import sniffed_kind
from glados.web_fetch.settings import Mode

if TYPE_CHECKING:
    from glados.web_fetch.http import Response


@dataclass(frozen=True, slots=True)
class Content:
    """The text, cut to the limit, and how long all of it is."""

    text: str
    length: int
    title: str | None = None


def convert(response: Response, mode: Mode, max_characters: int) -> Content:
    """Decode and convert a response; takes CPU time, so call it in a thread."""
    kind = response.media.kind or sniffed_kind(response.body.data)
    if kind is None:
        raise UnsupportedType(str(response.url), response.media.name)
    text = decode(response.body.data, response.media.charset, is_html=kind == "html")
    if kind == "html":
        return _page(text, mode, str(response.url), max_characters)
    if mode == "links":
        return Content("[]", 2)
    return _cut(_formatted(text) if kind == "json" and mode == "markdown" else text, max_characters)


def _page(html: str, mode: Mode, url: str, max_characters: int) -> Content:
    tree = parse_html(html)
    title = page_title(tree)
    if mode == "links":
        return Content(*links_json(page_links(tree, url), max_characters), title)
    if mode == "html":
        return _cut(html, max_characters, title)
    markdown = to_markdown(html)
    return _cut(page_text(tree) if markdown is None else markdown, max_characters, title)


def _cut(text: str, max_characters: int, title: str | None = None) -> Content:
    return Content(text[:max_characters], len(text), title)


def _formatted(text: str) -> str:
    """JSON on many lines; what is no JSON, or nested too deeply, stays as it is."""
    try:
        formatted = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    # An escaped half of a surrogate pair is valid JSON, but no text that could be stored or sent on.
    return formatted.encode("utf-8", "replace").decode("utf-8")
