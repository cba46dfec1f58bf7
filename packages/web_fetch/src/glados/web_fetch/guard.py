"""Which addresses may be connected to: public ones, those that the operator lists, and never our own port."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from glados.core import ForbiddenAddress
from glados.web_fetch.errors import AddressNotAllowed, PortNotAllowed
from glados.web_fetch.hosts import IPAddress
from glados.web_fetch.urls import Url

IPNetwork = IPv4Network | IPv6Network

# `ipaddress.is_global` is not used: it lets through NAT64, 6to4, IPv4-compatible and multicast addresses.
_BLOCKED = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network; connecting to 0.0.0.0 reaches loopback
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's wire server, in the middle of public space
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, cloud metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",  # documentation
    )
)
# Global unicast; everything outside embeds, maps or hides something else.
_IPV6_GLOBAL = IPv6Network("2000::/3")


def is_public(address: IPAddress) -> bool:
    """Whether an address belongs to the public internet."""
    if isinstance(address, IPv6Address) and address not in _IPV6_GLOBAL:
        return False
    return not any(address in network for network in _BLOCKED)


class AddressGuard:
    """Decides on each URL before it is asked for, and on each address before it is connected to."""

    def __init__(
        self,
        allowed_ports: Sequence[int],
        allowed_addresses: Sequence[IPNetwork] = (),
        forbidden: Callable[[], Sequence[ForbiddenAddress]] = tuple,
    ) -> None:
        self._ports = list(allowed_ports)
        self._networks = tuple(allowed_addresses)
        self._forbidden = forbidden

    def is_listed(self, address: IPAddress) -> bool:
        """Whether the operator allows the address although it may not be public."""
        return any(address in network for network in self._networks)

    def check_url(self, url: Url) -> None:
        """Refuse what no lookup could make right: local names, IP literals, ports."""
        if url.host.is_special_use:
            raise AddressNotAllowed(url.host.name, "it is a name for this machine or its network")
        if url.host.address is not None and not self.is_listed(url.host.address):
            raise AddressNotAllowed(url.host.name, "it is an IP address and not a host name")
        if not self._networks:  # otherwise it depends on the address whether other ports are allowed
            self.check_port(url.host.name, url.port)

    def check_address(self, host: str, text: str, port: int) -> IPAddress:
        """The address that `host` resolved to, if it may be connected to."""
        try:
            address = ip_address(text)
        except ValueError:
            raise AddressNotAllowed(host, f"{text!r} is no address", text) from None
        if any(_is_forbidden(address, port, entry) for entry in self._forbidden()):
            raise AddressNotAllowed(host, f"{address} port {port} is this program itself", text)
        if "%" in text:
            raise AddressNotAllowed(host, f"its address {text} is only valid on one network link", text)
        if self.is_listed(address):
            return address
        if not is_public(address):
            raise AddressNotAllowed(host, f"its address {address} is not public", text)
        self.check_port(host, port)
        return address

    def check_port(self, host: str, port: int) -> None:
        """Refuse a port of a public host that is not on the list."""
        if port not in self._ports:
            raise PortNotAllowed(host, port, self._ports)


def _is_forbidden(address: IPAddress, port: int, entry: ForbiddenAddress) -> bool:
    """A port that is forbidden anywhere is forbidden on every address of this machine.

    One socket can be reached by many of them: 127.0.0.1 as 0.0.0.0, a wildcard by every interface.
    """
    if port != entry.port:
        return False
    address = _unmapped(address)
    return str(address) == entry.host.strip("[]") or _is_local(address)


def _unmapped(address: IPAddress) -> IPAddress:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _is_local(address: IPAddress) -> bool:
    """Whether the address is one of this machine's: the kernel lets nobody listen on another."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
