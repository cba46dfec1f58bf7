"""Feeds: RSS 2.0 and 1.0, and Atom, read by a parser that knows no entities but the standard ones."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin
from xml.parsers import expat

from glados.web_fetch.addresses import leads_nowhere

MAX_DEPTH = 100

# Atomic groups: however a document begins, no part of it is read twice.
_ROOT = re.compile(
    r"(?>\s|<\?[^>]*>|<!--(?>.*?-->)|<!DOCTYPE[^>\[]*(?>\[.*?\]\s*)?>)*+<([\w.:-]+)", re.DOTALL | re.IGNORECASE
)
# What XML does not allow and many feeds have all the same: control characters, and an ampersand that is meant as one.
_STRAY = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&(?!(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z][\w.-]{0,40});)"
)
_ROOTS = {"rss", "feed", "rdf", "channel"}
_ENTRIES = {"item", "entry"}
# The names of what an entry says, in RSS, Atom and the vocabularies that both are mixed with; the first one counts.
_DATES = ("published", "pubdate", "date", "updated", "modified", "issued")
_TEXTS = ("encoded", "content", "description", "summary")
_WANTED = frozenset({"title", "link", "id", "guid", *_DATES, *_TEXTS})


@dataclass(slots=True)
class Entry:
    """What a feed says of itself, or of one of its entries; texts are HTML as a rule."""

    fields: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title, which may be HTML."""
        return self.fields.get("title", "").strip()

    @property
    def link(self) -> str:
        """Where it leads; an id can be an address too."""
        address = self.fields.get("link", "").strip()
        guid = (self.fields.get("guid") or self.fields.get("id") or "").strip()
        address = address or (guid if guid.startswith(("http://", "https://")) else "")
        return "" if leads_nowhere(address) else address

    @property
    def date(self) -> str:
        """When it was published, as it says."""
        return next((self.fields[name].strip() for name in _DATES if name in self.fields), "")

    @property
    def body(self) -> str:
        """The whole text if it is there, else the summary."""
        return max((self.fields.get(name, "").strip() for name in _TEXTS), key=len)


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its entries, in its own order."""

    about: Entry
    entries: list[Entry]


def root_name(text: str) -> str:
    """The name of a document's outermost element, without its prefix and in lower case."""
    match = _ROOT.match(text[:20_000])
    return match[1].rpartition(":")[2].lower() if match else ""


def parse_feed(text: str, url: str) -> Feed | None:
    """The feed in an XML document, as far as it can be read; None where it is none, or declares entities."""
    if root_name(text) not in _ROOTS:
        return None
    try:
        reader, is_whole = _read(text, url)
        if not is_whole:
            reader, _ = _read(_STRAY.sub(_mended, text), url)  # if it is cut, what came before is what there is
    except _Refused:
        return None
    return Feed(reader.about, reader.entries) if reader.about.fields or reader.entries else None


def _read(text: str, url: str) -> tuple[_Reader, bool]:
    """What could be read, and whether that was all."""
    reader = _Reader(url)
    try:
        reader.read(text)
    except expat.ExpatError:
        return reader, False
    return reader, True


def _mended(stray: re.Match[str]) -> str:
    return "&amp;" if stray[0] == "&" else ""


class _Refused(Exception):
    """A document that declares entities, or is nested too deeply: no feed does either."""


class _Reader:
    """Takes the texts of a feed from the events of the parser."""

    def __init__(self, url: str) -> None:
        self.about = Entry()
        self.entries: list[Entry] = []
        self._current = self.about
        self._bases = [url]
        self._path: list[str] = []
        self._captured: int | None = None
        self._is_plain = False
        self._text: list[str] = []

    def read(self, text: str) -> None:
        """Parse the document; its own word on its encoding does not count, it is decoded already."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.UseForeignDTD(True)  # an unknown entity, such as &nbsp;, is told instead of ending the document
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.SkippedEntityHandler = self._entity
        try:
            parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError:
            parser.buffer_text = False  # it gives out what it holds back
            self._keep_open()
            raise

    def _refuse(self, *_: object) -> None:
        raise _Refused

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        if len(self._path) >= MAX_DEPTH:
            raise _Refused
        self._path.append(local)
        self._bases.append(urljoined(self._bases[-1], attributes.get("xml:base", "")))
        if self._captured is not None:
            # Atom's XHTML: the elements are the text.
            shown = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items() if ":" not in key)
            self._text.append(f"<{local}{shown}>")
        elif local in _ENTRIES:
            self._current = Entry()
            self.entries.append(self._current)
        elif local == "link" and "href" in attributes:
            self._link(attributes)
        elif local in _WANTED and self._path[-2:-1] != ["image"]:
            self._captured, self._text = len(self._path), []
            self._is_plain = self._path[0] == "feed" and attributes.get("type", "text") == "text"

    def _link(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("rel", "alternate") == "alternate":
            self._current.fields.setdefault("link", urljoined(self._bases[-1], attributes["href"]))

    def _end(self, name: str) -> None:
        local = self._path.pop()
        self._bases.pop()
        if self._captured is None:
            if local in _ENTRIES:
                self._current = self.about
        elif len(self._path) >= self._captured:
            self._text.append(f"</{local}>")
        else:
            value = "".join(self._text)
            self._captured = None
            self._current.fields.setdefault(local, urljoined(self._bases[-1], value) if local == "link" else value)

    def _keep_open(self) -> None:
        """Keep the text in the middle of which the document ends; half an address or a date says nothing."""
        name = "" if self._captured is None else self._path[self._captured - 1]
        if name in ("title", *_TEXTS):
            self._current.fields.setdefault(name, "".join(self._text))

    def _characters(self, data: str) -> None:
        if self._captured is not None:
            # The texts of RSS are markup, whatever they say; those of Atom say so, and inside of XHTML they never are.
            is_markup = len(self._path) == self._captured and not self._is_plain
            self._text.append(data if is_markup else html.escape(data, quote=False))

    def _entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._characters(html.unescape(f"&{name};"))


def urljoined(base: str, address: str) -> str:
    """An address made absolute; one that cannot be is what it is."""
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return address.strip()
