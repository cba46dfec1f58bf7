"""The way through a proxy: what is asked for is vetted first, and the proxy is told no more than it has to know."""

from __future__ import annotations

import base64
import contextlib
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

import httpcore

from glados.web_fetch.errors import DnsFailed, ProxyFailed
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.resolver import Resolver, vetted_addresses
from glados.web_fetch.urls import DEFAULT_PORTS

MAX_ANSWER = 16_384
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r\n")


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where the proxy is, and the header that it knows us by."""

    scheme: str
    host: str
    port: int
    authorization: str | None

    def __repr__(self) -> str:
        return f"Proxy({self.scheme}://{self.host}:{self.port})"


def parse_proxy(text: str) -> Proxy:
    """The proxy that the setting names; the setting has been checked."""
    parts = urlsplit(text)
    authorization = None
    if parts.username is not None:
        pair = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
        authorization = f"Basic {base64.b64encode(pair).decode('ascii')}"
    return Proxy(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme], authorization)


class ProxyBackend(httpcore.AsyncNetworkBackend):
    """Connects to the proxy in place of a host whose addresses have been vetted; `tunnel` is for https."""

    def __init__(
        self,
        proxy: Proxy,
        resolver: Resolver,
        guard: AddressGuard,
        network: httpcore.AsyncNetworkBackend,
        connect_timeout: float,
        *,
        tunnel: bool,
        tls: ssl.SSLContext,
    ) -> None:
        self._proxy = proxy
        self._resolver = resolver
        self._guard = guard
        self._network = network
        self._connect_timeout = connect_timeout
        self._tunnel = tunnel
        self._tls = tls

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the proxy, which is on to the host already if it is a tunnel."""
        # Behind many proxies only the proxy can look names up: what it then connects to is its operator's to decide.
        with contextlib.suppress(DnsFailed):
            await vetted_addresses(host, port, self._resolver, self._guard)
        try:
            stream = await self._network.connect_tcp(
                self._proxy.host, self._proxy.port, self._connect_timeout, local_address, socket_options
            )
            if self._proxy.scheme == "https":
                stream = await stream.start_tls(self._tls, self._proxy.host, self._connect_timeout)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError) as error:
            raise ProxyFailed(host, str(error)[:200] or type(error).__name__) from error
        return await self._tunnelled(stream, host, port) if self._tunnel else stream

    async def _tunnelled(
        self, stream: httpcore.AsyncNetworkStream, host: str, port: int
    ) -> httpcore.AsyncNetworkStream:
        try:
            await self._connect(stream, host, port)
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            await stream.aclose()
            raise ProxyFailed(host, str(error)[:200] or type(error).__name__) from error
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def _connect(self, stream: httpcore.AsyncNetworkStream, host: str, port: int) -> None:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self._proxy.authorization is not None:
            lines.append(f"Proxy-Authorization: {self._proxy.authorization}")
        await stream.write("\r\n".join([*lines, "", ""]).encode("ascii"))
        answer = b""
        while b"\r\n\r\n" not in answer and len(answer) <= MAX_ANSWER:
            received = await stream.read(4096)
            if not received:
                break
            answer += received
        status = _STATUS.match(answer)
        if status is not None and not 200 <= int(status[1]) < 300:
            reason = (status[2] or b"").decode("latin-1")[:80]
            raise ProxyFailed(host, f"it answered {status[1].decode()} {reason}".strip())
        if status is None or not answer.endswith(b"\r\n\r\n"):
            raise ProxyFailed(host, "it did not answer as a proxy does")
