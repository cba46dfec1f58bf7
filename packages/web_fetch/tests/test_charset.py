from __future__ import annotations

import pytest

from glados.web_fetch.charset import decode

META = '<meta charset="{}"><p>'


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("käse".encode(), None, "käse"),
        ("käse".encode("latin-1"), "ISO-8859-1", "käse"),
        ("“käse”".encode("cp1252"), "latin1", "“käse”"),  # what the web calls latin1
        ("汉字".encode("gbk"), "gb2312", "汉字"),
        ("日本".encode("cp932"), "Shift_JIS", "日本"),
        ("한국".encode("cp949"), "euc-kr", "한국"),
        ("мир".encode("koi8-r"), "koi8-r", "мир"),
        (b"\xef\xbb\xbf" + "käse".encode(), "iso-8859-1", "käse"),  # the byte order mark wins
        (b"\xff\xfe" + "käse".encode("utf-16-le"), "utf-8", "käse"),
        (b"\xfe\xff" + "käse".encode("utf-16-be"), None, "käse"),
        (b"k\xe4se", "utf-8", "k�se"),
        (b"k\xe4se", None, "käse"),
        (("<p>" + "ü" * 30).encode() + b"\xc3", None, "<p>" + "ü" * 30 + "�"),  # cut in the middle of a character
        (b"\xff\xfe".rjust(4, b"a"), "no-such-charset", "aa��"),
        ("käse".encode(), "x" * 10_000, "käse"),
        ("käse".encode(), "utf-7", "käse"),
        (b"a\x00b", None, "a�b"),
        ("<p>käse 汉字".encode("utf-16-le"), None, "<p>käse 汉字"),
        ("<p>käse 汉字".encode("utf-16-be"), None, "<p>käse 汉字"),
        ("汉字 мир".encode("utf-16-le"), "utf-16le", "汉字 мир"),
        (b"", None, ""),
    ],
)
def test_text_is_decoded_as_browsers_do(body: bytes, charset: str | None, text: str) -> None:
    assert decode(body, charset)[0] == text


@pytest.mark.parametrize(
    ("label", "codec"),
    [("iso-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("GBK", "gbk"), ("utf-16", "utf-8"), ("unknown", "utf-8")],
)
def test_a_page_can_name_its_charset(label: str, codec: str) -> None:
    page = META.format(label) + ("мир" if codec == "cp1251" else "ü")
    assert decode(page.encode(codec), None, is_markup=True)[0] == page


def test_the_old_form_of_the_meta_tag_counts_too() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">ü'
    assert decode(page.encode("latin-1"), None, is_markup=True)[0] == page


def test_the_header_wins_over_the_page() -> None:
    page = META.format("iso-8859-1") + "ü"
    assert decode(page.encode(), "utf-8", is_markup=True)[0] == page


def test_a_charset_is_looked_for_in_pages_only() -> None:
    text = META.format("iso-8859-1") + "ü"
    assert decode(text.encode(), None)[0] == text


def test_an_xml_declaration_names_the_charset() -> None:
    document = '<?xml version="1.0" encoding="windows-1251"?><rss>мир</rss>'
    assert decode(document.encode("cp1251"), None, is_markup=True) == (document, 0)


def test_what_cannot_be_decoded_is_counted() -> None:
    assert decode(b"a\xffb\xfe", "utf-8") == ("a�b�", 2)
    assert decode("a�b".encode(), "utf-8") == ("a�b", 0)
