from __future__ import annotations

import pytest

from glados.web_fetch.hosts import InvalidHost, parse_host


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("Bücher.test", "xn--bcher-kva.test"),
        ("xn--bcher-kva.test", "xn--bcher-kva.test"),
        ("faß.test", "xn--fa-hia.test"),  # a mapping would make it fass.test
        ("r3---sn-abc.example.com", "r3---sn-abc.example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
    ],
)
def test_a_host_has_one_spelling(text: str, name: str) -> None:
    assert parse_host(text).name == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        "BÜCHER.test",  # an upper-case Ü is not in IDNA 2008, and mapping it is a guess
        "\N{KELVIN SIGN}elvin.test",
        "good\N{IDEOGRAPHIC FULL STOP}test",
        "a_b.test",
        "-a.test",
        "a-.test",
        "xn--a.test",
        "xn--zzzzzzzzzzzz.test",
        "127.0.0.01",
        "127.0.0.1.",
        "1.2.3.4.5",
        "[::1%eth0]",
        "[::1",
        "::1",
        "[1.2.3.4]",
        f"{'a' * 64}.test",
        ".".join(["a" * 60] * 5),
    ],
)
def test_what_parsers_could_read_in_two_ways_is_no_host(text: str) -> None:
    with pytest.raises(InvalidHost):
        parse_host(text)
