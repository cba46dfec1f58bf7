from __future__ import annotations

import socket
from ipaddress import ip_network
from typing import Any

import pytest

from glados.core import ForbiddenAddress
from glados.web_fetch.errors import AddressNotAllowed, PortNotAllowed
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.urls import parse_url

PUBLIC_ONLY = AddressGuard([80, 443])


def test_only_public_addresses_are_connected_to(ip_case: dict[str, Any]) -> None:
    if ip_case["expect"] == "allow":
        assert str(PUBLIC_ONLY.check_address("good.test", ip_case["input"], 443)) == ip_case["input"]
        return
    assert ip_case["expect"] in ("block", "allow-or-block")
    with pytest.raises(AddressNotAllowed):
        PUBLIC_ONLY.check_address("good.test", ip_case["input"], 443)


@pytest.mark.parametrize("text", ["2606:4700::6810:84e5", "2a00:1450:4001:80b::200e", "1.1.1.1", "192.1.0.1"])
def test_ordinary_addresses_are_public(text: str) -> None:
    assert str(PUBLIC_ONLY.check_address("good.test", text, 443)) == text


def test_a_public_address_has_only_the_allowed_ports() -> None:
    with pytest.raises(PortNotAllowed) as caught:
        PUBLIC_ONLY.check_address("good.test", "8.8.8.8", 8080)
    assert caught.value.data == {"domain": "good.test", "port": 8080}


def guard(*networks: str, forbidden: tuple[ForbiddenAddress, ...] = ()) -> AddressGuard:
    return AddressGuard([80, 443], [ip_network(text) for text in networks], lambda: forbidden)


def test_a_listed_network_is_allowed_on_every_port_and_as_a_literal() -> None:
    intranet = guard("10.1.0.0/16")
    intranet.check_url(parse_url("http://10.1.2.3:8080/"))
    intranet.check_url(parse_url("http://wiki.test:8080/"))
    assert str(intranet.check_address("wiki.test", "10.1.2.3", 8080)) == "10.1.2.3"


def test_what_is_not_listed_stays_as_it_was() -> None:
    intranet = guard("10.1.0.0/16")
    for url in ("http://10.2.0.1/", "http://8.8.8.8/", "http://localhost/"):
        with pytest.raises(AddressNotAllowed):
            intranet.check_url(parse_url(url))
    for address in ("10.2.0.1", "::ffff:10.1.0.1", "127.0.0.1"):
        with pytest.raises(AddressNotAllowed):
            intranet.check_address("wiki.test", address, 80)
    with pytest.raises(PortNotAllowed):
        intranet.check_address("wiki.test", "8.8.8.8", 8080)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "localhost", "[::1]"])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"])
def test_our_own_port_is_forbidden_on_every_local_address_whatever_is_allowed(host: str, address: str) -> None:
    everything = guard("0.0.0.0/0", "::/0", forbidden=(ForbiddenAddress(host, 8420),))
    with pytest.raises(AddressNotAllowed, match="this program itself"):
        everything.check_address("good.test", address, 8420)
    assert everything.check_address("good.test", address, 8421)


def test_our_own_port_is_forbidden_on_the_addresses_of_the_network_interfaces() -> None:
    own = _own_address()
    if own is None:
        pytest.skip("this machine has no address but loopback")
    everything = guard("0.0.0.0/0", forbidden=(ForbiddenAddress("0.0.0.0", 8420),))
    with pytest.raises(AddressNotAllowed):
        everything.check_address("good.test", own, 8420)


def test_the_same_port_of_another_machine_is_not_forbidden() -> None:
    everything = guard("0.0.0.0/0", forbidden=(ForbiddenAddress("0.0.0.0", 8420),))
    assert everything.check_address("good.test", "192.0.2.77", 8420)


def test_a_forbidden_address_of_another_machine_is_forbidden_too() -> None:
    everything = guard("0.0.0.0/0", forbidden=(ForbiddenAddress("192.0.2.77", 8420),))
    with pytest.raises(AddressNotAllowed):
        everything.check_address("good.test", "192.0.2.77", 8420)


def _own_address() -> str | None:
    """The address from which this machine would send; connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]
