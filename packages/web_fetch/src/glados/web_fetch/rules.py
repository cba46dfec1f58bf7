"""Rules of the allowlist: a host exactly, or `*.example.com` for every host exactly one label below."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from glados.web_fetch.errors import InvalidDomain
from glados.web_fetch.hosts import Host, InvalidHost, IPAddress, parse_host

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

WILDCARD = "*."


def parse_rule(text: str) -> str:
    """A rule in its canonical spelling."""
    return _parse(text)[0]


def check_rule(text: str, is_listed: Callable[[IPAddress], bool]) -> str:
    """A rule that may be added; `is_listed` says which IP addresses the operator has allowed."""
    rule, host = _parse(text)
    if host.address is not None:
        if not is_listed(host.address):
            raise InvalidDomain(text, "it is an IP address, and none that the setting allowed_addresses covers")
        return rule
    if "." not in host.name:
        raise InvalidDomain(text, "it is no full host name")
    if host.is_special_use:
        raise InvalidDomain(text, "it is a name for this machine or its network")
    if _public_suffixes().is_public(host.name):
        raise InvalidDomain(text, f"{host.name} is a suffix under which anybody can have a host")
    return rule


def rules_covering(host: Host) -> tuple[str, ...]:
    """Every rule that would allow the host."""
    _, dot, parent = host.name.partition(".")
    if host.address is not None or not dot:
        return (host.name,)
    return host.name, f"{WILDCARD}{parent}"


def _parse(text: str) -> tuple[str, Host]:
    prefix = WILDCARD if text.startswith(WILDCARD) else ""
    try:
        host = parse_host(text.removeprefix(WILDCARD))
    except InvalidHost as error:
        raise InvalidDomain(text, str(error)) from None
    if prefix and host.address is not None:
        raise InvalidDomain(text, "an IP address has no hosts below it")
    return f"{prefix}{host.name}", host


@cache
def _public_suffixes() -> PublicSuffixList:
    """The list as it was shipped with its package; nothing is downloaded."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
