"""Content types: which can be read, and as what."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from typing import Literal

Kind = Literal["html", "text", "json", "xml"]

XHTML = "application/xhtml+xml"
_KINDS: dict[str, Kind] = {
    "text/html": "html",
    XHTML: "html",
    "text/plain": "text",
    "text/markdown": "text",
    "text/x-markdown": "text",
    "application/json": "json",
    "text/json": "json",
    "application/rss+xml": "xml",
    "application/atom+xml": "xml",
    "application/rdf+xml": "xml",
    "application/xml": "xml",
    "text/xml": "xml",
}
_HTML_OPENINGS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<meta", b"<!--")
_XML_OPENINGS = (b"<?xml", b"<rss", b"<feed", b"<rdf:rdf")
_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Media:
    """A Content-Type header: the type in lower case, empty where there is none, and the charset it names."""

    name: str = ""
    charset: str | None = None

    @property
    def kind(self) -> Kind | None:
        """How content of this type is read, None where it is not."""
        if self.name.endswith("+json"):
            return "json"
        return _KINDS.get(self.name)


def parse_media(header: str) -> Media:
    """Read a Content-Type header."""
    # Where a header came twice, somebody on the way may have joined the two: the last one that is a type counts.
    types = [part for part in header.split(",") if "/" in part.partition(";")[0]]
    name, *parameters = (types[-1] if types else header).split(";")
    charset = None
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset" and charset is None:
            charset = value.strip().strip("\"'")
    return Media(_printable(name.strip().lower()), charset)


def sniffed_kind(body: bytes) -> Kind | None:
    """How a body without a content type is read: as a page or XML if it begins like it, as text if it is no binary."""
    start = body[:1024]
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        start = start.decode("utf-16", "ignore").encode("utf-8", "ignore")
    start = start.removeprefix(BOM_UTF8).lstrip().lower()
    if start.startswith(_HTML_OPENINGS):
        return "html"
    if start.startswith(_XML_OPENINGS):
        return "xml"
    return None if b"\x00" in start else "text"


def _printable(name: str) -> str:
    return "".join(character for character in name[:_MAX_NAME] if character.isprintable())
