"""Names to addresses: looked up once for each connection, and vetted before anything is connected to."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Protocol

from glados.web_fetch.errors import DnsFailed
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.hosts import IPAddress, parse_host
from glados.web_fetch.workers import in_thread

MAX_ADDRESSES = 16


class Resolver(Protocol):
    """Whoever looks names up; provide another with `services.provide(Resolver, …, replace=True)`."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a name in the order in which to try them; raise OSError where it has none."""
        ...


class SystemResolver:
    """The resolver of the operating system."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Look a name up as every other program on this machine does."""
        found = await in_thread(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        return [str(address[0]) for *_, address in found]


class LateResolver:
    """Whichever resolver is provided at the time of a lookup: another plugin may bring one after this one is set up."""

    def __init__(self, find: Callable[[], Resolver]) -> None:
        self._find = find

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Look a name up with it."""
        return await self._find().resolve(host, port)


async def vetted_addresses(host: str, port: int, resolver: Resolver, guard: AddressGuard) -> list[IPAddress]:
    """The addresses to connect to, looked up once; one that is not allowed refuses the host as a whole."""
    texts = await _lookup(host, port, resolver)
    return [guard.check_address(host, text, port) for text in texts]


async def _lookup(host: str, port: int, resolver: Resolver) -> list[str]:
    if parse_host(f"[{host}]" if ":" in host else host).address is not None:
        return [host]
    try:
        found = await resolver.resolve(host, port)
    except OSError as error:  # socket.gaierror is one
        raise DnsFailed(host, error.strerror or type(error).__name__) from error
    except UnicodeError as error:  # the codec of getaddrinfo refuses some names with this
        raise DnsFailed(host, "the resolver does not take this name") from error
    if not found:
        raise DnsFailed(host, "it has no address")
    return list(dict.fromkeys(found[:MAX_ADDRESSES]))
