from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from glados.web_fetch.errors import InvalidDomain
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.hosts import parse_host
from glados.web_fetch.rules import check_rule, parse_rule, rules_covering

NOTHING_LISTED = AddressGuard([80, 443]).is_listed
LOOPBACK_LISTED = AddressGuard([80, 443], [ip_network("127.0.0.0/8"), ip_network("::1/128")]).is_listed


def test_hostile_rules_are_refused_and_the_good_ones_normalised(rule_case: dict[str, Any]) -> None:
    expected = rule_case["expect"]
    if expected.startswith("accept:"):
        assert check_rule(rule_case["input"], NOTHING_LISTED) == expected.removeprefix("accept:")
        return
    assert expected in ("reject", "reject-or-pathrule", "reject-or-portrule")
    with pytest.raises(InvalidDomain):
        check_rule(rule_case["input"], NOTHING_LISTED)


@pytest.mark.parametrize("text", ["co.uk", "*.co.uk", "*.github.io", "*.test", "localhost", "a.localhost", "*.*.com"])
def test_a_rule_that_would_cover_strangers_or_this_machine_is_refused(text: str) -> None:
    with pytest.raises(InvalidDomain):
        check_rule(text, NOTHING_LISTED)


@pytest.mark.parametrize("text", ["someone.github.io", "*.example.co.uk", "www.gov.uk", "a.b.c.example.com"])
def test_a_host_below_a_public_suffix_can_be_allowed(text: str) -> None:
    assert check_rule(text, NOTHING_LISTED) == text


def test_an_ip_address_is_a_rule_only_where_the_operator_lists_it() -> None:
    assert check_rule("127.0.0.1", LOOPBACK_LISTED) == "127.0.0.1"
    assert check_rule("[0:0::1]", LOOPBACK_LISTED) == "[::1]"
    for text in ("10.0.0.1", "*.127.0.0.1", "::1", "[::2]"):
        with pytest.raises(InvalidDomain):
            check_rule(text, LOOPBACK_LISTED)


def test_a_rule_can_be_read_without_being_one_that_may_be_added() -> None:
    assert parse_rule("127.0.0.1") == "127.0.0.1"
    assert parse_rule("*.COM.") == "*.com"


def test_a_host_is_covered_by_itself_and_by_its_parents_wildcard() -> None:
    assert rules_covering(parse_host("docs.python.org")) == ("docs.python.org", "*.python.org")
    assert rules_covering(parse_host("127.0.0.1")) == ("127.0.0.1",)


def test_a_refusal_says_why_and_what_to_give() -> None:
    with pytest.raises(InvalidDomain) as caught:
        check_rule("*.co.uk", NOTHING_LISTED)
    assert caught.value.message == (
        "'*.co.uk' cannot be on the allowlist: co.uk is a suffix under which anybody can have a host;"
        " give a host such as 'example.com', or '*.example.com' for every host one level below it."
    )
    assert caught.value.data == {"domain": "*.co.uk"}
