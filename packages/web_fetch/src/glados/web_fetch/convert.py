"""From the bytes of a response to what the model reads, in one of the three modes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from glados.web_fetch.charset import decode
from glados.web_fetch.errors import UnsupportedType
from glados.web_fetch.html import page_text, page_title, parse_html
from glados.web_fetch.links import page_links
from glados.web_fetch.markdown import to_markdown
from glados.web_fetch.media import sniffed_kind
from glados.web_fetch.pages import Content, Page, Source

if TYPE_CHECKING:
    from glados.web_fetch.settings import Mode


def convert(source: Source, mode: Mode, content: Content) -> Page:
    """Decode and convert a response; what that costs the page decides, so it is called in a worker process."""
    kind = source.media.kind or sniffed_kind(source.data)
    if kind is None:
        raise UnsupportedType(source.url, source.media.name)
    text = decode(source.data, source.media.charset, is_html=kind == "html")
    if kind == "html":
        return _page(text, mode, source.url)
    if mode == "links":
        return Page("[]")
    return Page(_formatted(text) if kind == "json" and mode == "markdown" else text)


def _page(html: str, mode: Mode, url: str) -> Page:
    tree = parse_html(html)
    page = Page(html, page_title(tree))
    if mode == "links":
        return replace(page, text=json.dumps(page_links(tree, url), ensure_ascii=False))
    if mode == "html":
        return page
    markdown = to_markdown(html)
    return replace(page, text=page_text(tree) if markdown is None else markdown)


def _formatted(text: str) -> str:
    """JSON on many lines; what is no JSON, or nested too deeply, stays as it is."""
    try:
        formatted = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    # An escaped half of a surrogate pair is valid JSON, but no text that could be stored or sent on.
    return formatted.encode("utf-8", "replace").decode("utf-8")
