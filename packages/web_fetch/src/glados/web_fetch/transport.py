"""What httpx sends requests through: connections to vetted addresses only."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import cast

import httpcore
import httpx

from glados.core import PluginError
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.resolver import Resolver, vetted_addresses


def trusted_authorities() -> ssl.SSLContext:
    """TLS as this machine trusts it."""
    return httpcore.default_ssl_context()


def warmed_up() -> ssl.SSLContext:
    """The same, with all that the first connection would load loaded; it takes a while, so call it in a thread."""

    asyncio.run(Network().sleep(0))
    return trusted_authorities()


class Network(httpcore.AsyncNetworkBackend):
    """Plain connections of the operating system."""

    def __init__(self) -> None:
        self._backend = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._backend.sleep(seconds)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect within the timeout."""
        return _Stream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is closed also where a deadline interrupts its TLS handshake: httpcore leaves it open."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self.read, self.write, self.aclose = stream.read, stream.write, stream.aclose
        self.get_extra_info = stream.get_extra_info

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """The same connection, encrypted."""
        try:
            return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))
        except BaseException:
            await self._stream.aclose()
            raise


class VettingBackend(httpcore.AsyncNetworkBackend):
    """Connects to vetted addresses only; name, TLS and Host header stay those of the URL."""

    def __init__(
        self, resolver: Resolver, guard: AddressGuard, network: httpcore.AsyncNetworkBackend, connect_timeout: float
    ) -> None:
        self._resolver = resolver
        self._guard = guard
        self._network = network
        self._connect_timeout = connect_timeout

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Look the host up once, then try its addresses in order."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in await vetted_addresses(host, port, self._resolver, self._guard):
            try:
                return await self._network.connect_tcp(
                    str(address), port, self._connect_timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class VettingTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport over a pool that connects through the given backend."""

    def __init__(self, tls: ssl.SSLContext, backend: httpcore.AsyncNetworkBackend) -> None:
        super().__init__(verify=tls, trust_env=False)
        # httpx has no parameter for the backend. Were its pool kept elsewhere, every address would pass unvetted.
        if not isinstance(getattr(self, "_pool", None), httpcore.AsyncConnectionPool):
            raise PluginError(
                f"httpx {httpx.__version__} keeps its connections where they cannot be vetted: install httpx~=0.28.1.",
                httpx=httpx.__version__,
            )
        self._pool = httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=backend)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, its headers moved out of the client's sight.

        The client parses Location and Set-Cookie even where it is told to follow and to keep nothing.
        """
        response = await super().handle_async_request(request)
        response.extensions["headers"] = response.headers.raw
        response.headers = httpx.Headers()
        return response
