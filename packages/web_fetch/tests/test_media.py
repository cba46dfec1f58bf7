from __future__ import annotations

import pytest

from glados.web_fetch.media import Kind, Media, parse_media, sniffed_kind


@pytest.mark.parametrize(
    ("header", "media"),
    [
        ("text/html", Media("text/html")),
        ("Text/HTML; Charset=UTF-8", Media("text/html", "UTF-8")),
        ('text/html; a=b; charset="utf-8"; charset=latin1', Media("text/html", "utf-8")),
        ("text/html, text/html; charset=utf-8", Media("text/html", "utf-8")),
        ("image/png, text/html", Media("text/html")),
        ('text/html; charset=utf-8; a="b, c"', Media("text/html", "utf-8")),
        ("", Media()),
        ("text/\x1bhtml", Media("text/html")),
        ("x" * 1000, Media("x" * 100)),
    ],
)
def test_a_content_type_is_read(header: str, media: Media) -> None:
    assert parse_media(header) == media


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("text/html", "html"),
        ("application/xhtml+xml", "html"),
        ("text/plain", "text"),
        ("text/markdown", "text"),
        ("application/json", "json"),
        ("application/ld+json", "json"),
        ("image/svg+xml", None),
        ("application/rss+xml", "xml"),
        ("text/xml", "xml"),
        ("application/pdf", None),
        ("", None),
    ],
)
def test_pages_feeds_text_and_json_can_be_read(name: str, kind: Kind | None) -> None:
    assert Media(name).kind == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"\xef\xbb\xbf\n <!DOCTYPE html><p>", "html"),
        (b"<HTML>", "html"),
        (b"just words, 1 < 2", "text"),
        (b"", "text"),
        (b'<?xml version="1.0"?><rss>', "xml"),
        (b"<feed xmlns=", "xml"),
        ("<!DOCTYPE html><p>".encode("utf-16"), "html"),
        ("wörds".encode("utf-16"), "text"),
        (b"\x89PNG\r\n\x1a\n\x00", None),
    ],
)
def test_content_without_a_type_is_a_page_only_if_it_looks_like_one(body: bytes, kind: Kind | None) -> None:
    assert sniffed_kind(body) == kind
