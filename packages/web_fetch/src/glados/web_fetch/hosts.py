"""Hosts in one canonical spelling; what two parsers could read differently is refused, never repaired."""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

IPAddress = IPv4Address | IPv6Address

MAX_NAME, MAX_LABEL = 253, 63
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\]")
# str.lower() also folds characters such as the Kelvin sign into ASCII, which would turn one host into another.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_SPECIAL_USE = ("localhost", "local", "localdomain", "internal", "home.arpa", "onion", "invalid")


class InvalidHost(ValueError):
    """Why a text is no host; the message completes the sentence "it cannot be used: …"."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host name in A-label form, or an IP address as URLs write it (`127.0.0.1`, `[::1]`)."""

    name: str
    address: IPAddress | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def is_special_use(self) -> bool:
        """Whether the name belongs to this machine or its network, or is one that only a search domain completes."""
        if self.address is not None:
            return False
        return "." not in self.name or any(self.name == name or self.name.endswith(f".{name}") for name in _SPECIAL_USE)


def hidden_character(text: str) -> str | None:
    """The first white space, control, invisible or unassigned character, by its code point."""
    for character in text:
        if unicodedata.category(character) in _HIDDEN:
            return f"U+{ord(character):04X}"
    return None


def parse_host(text: str) -> Host:
    """The canonical form of a host name or IP literal."""
    hidden = hidden_character(text)
    if hidden is not None:
        raise InvalidHost(f"the host contains the character {hidden}")
    if text.startswith("["):
        return _ipv6(text)
    name = text.removesuffix(".").translate(_LOWER)
    if not name:
        raise InvalidHost("it has no host")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(text)
    name = ".".join(_label(label) for label in labels)
    if len(name) > MAX_NAME:
        raise InvalidHost(f"the host is longer than {MAX_NAME} characters")
    return Host(name)


def _ipv4(text: str) -> Host:
    # Resolvers read 0x7f000001, 0177.0.0.1 and 2130706433 as 127.0.0.1: only the plain form is taken.
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise InvalidHost("the host ends in a number and is no IPv4 address") from None
    return Host(str(address), address)


def _ipv6(text: str) -> Host:
    if not _IPV6.fullmatch(text):
        raise InvalidHost("the host is no IPv6 address in brackets")
    try:
        address = IPv6Address(text[1:-1])
    except AddressValueError:
        raise InvalidHost("the host is no IPv6 address in brackets") from None
    return Host(f"[{address.compressed}]", address)


def _label(label: str) -> str:
    if not label:
        raise InvalidHost("the host has an empty part between dots")
    if not label.isascii() or label.startswith("xn--"):
        label = _a_label(label)
    if len(label) > MAX_LABEL:
        raise InvalidHost(f"a part of the host is longer than {MAX_LABEL} characters")
    if not _LABEL.fullmatch(label):
        raise InvalidHost("the host may only have letters, digits, hyphens and dots")
    return label


def _a_label(label: str) -> str:
    """The A-label by IDNA 2008 alone: a mapping step would make good.test of its full-width twin.

    One that is an A-label already has to be the one that its own decoded form is written as.
    """
    import idna

    try:
        encoded = idna.alabel(idna.ulabel(label) if label.isascii() else label).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        encoded = None
    if encoded is None or (label.isascii() and encoded != label):
        raise InvalidHost(f"{label[:MAX_LABEL]!r} is no valid international name")
    return encoded
