"""Every hostile URL meets the same three checks that a fetch begins with: the parser, the guard, the allowlist."""

from __future__ import annotations

from typing import Any

import pytest

from glados.core import ToolError
from glados.web_fetch.errors import AddressNotAllowed, DomainNotAllowed, InvalidUrl, PortNotAllowed
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.rules import rules_covering
from glados.web_fetch.urls import Url, join_url, parse_url

RULES = frozenset({"good.test", "*.sub.test", "xn--bcher-kva.test"})
GUARD = AddressGuard([80, 443])


def admitted(text: str) -> Url:
    url = parse_url(text)
    GUARD.check_url(url)
    if RULES.isdisjoint(rules_covering(url.host)):
        raise DomainNotAllowed(url.host.name)
    return url


def test_hostile_urls_are_refused_and_the_good_ones_pass(url_case: dict[str, Any]) -> None:
    expected = url_case["expect"]
    if expected == "block":
        with pytest.raises(ToolError):
            admitted(url_case["input"])
    elif expected.startswith("allow:"):
        assert admitted(url_case["input"]).host.name == expected.removeprefix("allow:")
    else:
        assert expected == "allow-or-block:stated"


def test_a_port_on_the_list_is_allowed_with_either_scheme() -> None:
    assert str(admitted("http://good.test:443/")) == "http://good.test:443/"
    assert str(admitted("https://good.test:80/")) == "https://good.test:80/"


def test_a_wildcard_covers_exactly_one_label() -> None:
    assert admitted("https://a.sub.test/").host.name == "a.sub.test"
    for text in ("https://sub.test/", "https://a.b.sub.test/", "https://evilsub.test/"):
        with pytest.raises(DomainNotAllowed):
            admitted(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("https://good.test:22/", PortNotAllowed),
        ("http://127.0.0.1/", AddressNotAllowed),
        ("http://8.8.8.8/", AddressNotAllowed),
        ("http://[2606:4700::1]/", AddressNotAllowed),
        ("http://localhost/", AddressNotAllowed),
        ("http://metadata.google.internal/", AddressNotAllowed),
        ("http://router/", AddressNotAllowed),
        ("http://2130706433/", InvalidUrl),
        ("http://good.test.1/", InvalidUrl),
        ("http://good.test.0x/", InvalidUrl),
        ("https://good.test:/", InvalidUrl),
        ("https://good.test:0443/", InvalidUrl),
        ("https://", InvalidUrl),
        ("", InvalidUrl),
    ],
)
def test_each_refusal_has_its_own_code(text: str, error: type[ToolError]) -> None:
    with pytest.raises(error):
        admitted(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTPS://GOOD.TEST", "https://good.test/"),
        ("https://good.test:443/a#part", "https://good.test/a"),
        ("http://good.test?q=1", "http://good.test/?q=1"),
        ("https://good.test/käse?q=ü", "https://good.test/k%C3%A4se?q=%C3%BC"),
        ("https://good.test/%7Ea/%zz", "https://good.test/%7Ea/%zz"),
        ('https://good.test/"<>|', "https://good.test/%22%3C%3E%7C"),
    ],
)
def test_a_url_has_one_spelling(text: str, canonical: str) -> None:
    assert str(parse_url(text)) == canonical
    assert str(parse_url(canonical)) == canonical


def test_an_error_quotes_the_address_and_says_what_to_give() -> None:
    with pytest.raises(InvalidUrl) as caught:
        parse_url("https://user:secret@good.test/")
    assert caught.value.message == (
        "'https://user:secret@good.test/' cannot be fetched: it contains a user name or password;"
        " give a full address such as 'https://example.com/page'."
    )


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/next", "https://good.test/next"),
        ("next?x=1", "https://good.test/a/next?x=1"),
        ("//a.sub.test/", "https://a.sub.test/"),
        ("http://good.test/", "http://good.test/"),
        ("?page=2", "https://good.test/a/b?page=2"),
    ],
)
def test_a_redirect_is_resolved_against_the_page(location: str, target: str) -> None:
    assert str(join_url(parse_url("https://good.test/a/b"), location)) == target


@pytest.mark.parametrize(
    "location", ["/a\tb", "/a\r\nb", "\\\\evil.test", "///evil.test", "https://a@evil.test/", "http://["]
)
def test_a_redirect_is_read_as_strictly_as_a_url(location: str) -> None:
    with pytest.raises(InvalidUrl):
        join_url(parse_url("https://good.test/a/b"), location)
