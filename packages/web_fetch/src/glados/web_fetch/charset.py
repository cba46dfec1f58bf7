"""Bytes to text as browsers do it: byte order mark, header, what the page itself says, and else a guess."""

from __future__ import annotations

import codecs
import re

from glados.web_fetch.encoding_guess import guess_codec

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-z0-9_:.-]{1,40})", re.IGNORECASE)
_META_WITHIN = 1024
# So many letters in valid UTF-8 for each byte that is not are no accident: in other encodings hardly one is.
_FLAWS = 10
_WIDE_WITHIN = 256
_XML_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-z0-9_:.-]{1,40})", re.IGNORECASE)

# Codec: the labels of the WHATWG encoding standard that mean it. They differ from Python's: latin1 is cp1252.
_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16le utf-16 ucs-2 unicode iso-10646-ucs-2 unicodefeff csunicode",
    "utf-16-be": "utf-16be unicodefffe",
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 l1 ascii us-ascii cp819",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 arabic",
    "iso8859-7": "iso-8859-7 iso8859-7 greek greek8",
    "iso8859-8": "iso-8859-8 iso8859-8 iso-8859-8-i hebrew visual logical",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 latin9 l9",
    "iso8859-16": "iso-8859-16",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "cp866": "ibm866 cp866 866",
    "cp874": "windows-874 iso-8859-11 iso8859-11 tis-620 dos-874",
    "koi8-r": "koi8-r koi8 koi koi8_r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese iso-ir-58 csgb2312",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5 csbig5",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji ms932 csshiftjis",
    "euc-jp": "euc-jp x-euc-jp",
    "iso2022-jp": "iso-2022-jp csiso2022jp",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 cseuckr",
}
_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}


def decode(body: bytes, charset: str | None, *, is_markup: bool = False) -> tuple[str, int]:
    """The text of a body, and how much of it could not be decoded and was replaced; NUL too, as HTML parsers do."""
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], codec)
    named = _codec(charset) or (_named_inside(body) if is_markup else None)
    return _guessed(body) if named is None else _decoded(body, named)


def _codec(label: str | None) -> str | None:
    return _CODECS.get(label.strip().lower()) if label else None


def _named_inside(body: bytes) -> str | None:
    match = _XML_DECLARATION.match(body) or _META.search(body[:_META_WITHIN])
    codec = _codec(match[1].decode("ascii")) if match else None
    # What could be read as ASCII so far is not UTF-16, whatever it says.
    return "utf-8" if codec is not None and codec.startswith("utf-16") else codec


def _guessed(body: bytes) -> tuple[str, int]:
    """UTF-8 if it is valid, or nearly so: a page that was cut or has a flaw is not of another encoding."""
    wide = _wide_codec(body[:_WIDE_WITHIN])
    if wide is not None:
        return _decoded(body, wide)
    text, replaced = _decoded(body, "utf-8")
    letters = len(text) - len(text.encode("ascii", "ignore")) if replaced else 0
    if b"\x1b$" in body or (replaced and letters < _FLAWS * replaced):
        codec = guess_codec(body)
        return (text, replaced) if codec is None else _decoded(body, codec)
    return text, replaced


def _wide_codec(start: bytes) -> str | None:
    """UTF-16 without its mark: one byte of most characters at the beginning is zero, the other never."""
    first, second = start[::2].count(0), start[1::2].count(0)
    if min(first, second) or max(first, second) < max(4, len(start) // 4):
        return None
    return "utf-16-le" if second else "utf-16-be"


def _decoded(body: bytes, codec: str) -> tuple[str, int]:
    try:
        text, replaced = body.decode(codec), 0
    except UnicodeDecodeError:
        text = body.decode(codec, errors="replace")
        replaced = text.count("\N{REPLACEMENT CHARACTER}")
    nuls = text.count("\x00")
    return (text.replace("\x00", "\N{REPLACEMENT CHARACTER}") if nuls else text), replaced + nuls
