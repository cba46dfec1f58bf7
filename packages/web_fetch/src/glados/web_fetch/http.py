"""One GET with everything checked at every hop; the only module that speaks HTTP.

It uses httpcore, the engine of httpx, and not httpx itself: the backend that connects is a public parameter there,
and the URL goes in as the parts that were checked, so that no second parser reads it differently.
"""

from __future__ import annotations

import http
import ssl
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import httpcore

from glados.core import ToolError
from glados.web_fetch.body import Body, parse_encoding, read_body
from glados.web_fetch.errors import (
    ConnectFailed,
    FetchTimeout,
    HttpStatus,
    InvalidUrl,
    TlsFailed,
    TooManyRedirects,
    UnsupportedType,
)
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.media import Media, parse_media
from glados.web_fetch.resolver import Resolver, vetted_addresses
from glados.web_fetch.settings import WebFetchSettings
from glados.web_fetch.urls import Url, join_url

CONNECT_TIMEOUT = 5.0
MAX_HEADERS = 100
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ACCEPT = "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1"


class Admit(Protocol):
    """Decides whether a URL may be asked for; raises a ToolError where not."""

    async def __call__(self, url: Url, redirected_by: Url | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Response:
    """A page as it came: the URL where the redirects ended, and the body, decompressed but not decoded."""

    url: Url
    status: int
    media: Media
    body: Body


class VettingBackend(httpcore.AsyncNetworkBackend):
    """Connects to vetted addresses only; name, TLS and Host header stay those of the URL."""

    def __init__(self, resolver: Resolver, guard: AddressGuard) -> None:
        self._resolver = resolver
        self._guard = guard
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

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
                    str(address), port, CONNECT_TIMEOUT, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class HttpClient:
    """Fetches pages for nobody in particular: no cookies, no credentials, no proxy, nothing from the environment."""

    def __init__(
        self,
        settings: WebFetchSettings,
        guard: AddressGuard,
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._resolver = resolver
        self._given_tls = tls

    async def get(self, url: Url, admit: Admit) -> Response:
        """The page at `url`, redirects followed; each hop is admitted, resolved and vetted like the first."""
        hop, redirected_by = url, None
        async with self._open_pool() as pool:
            for _ in range(self._settings.max_redirects + 1):
                await admit(hop, redirected_by)
                answer = await self._ask(pool, hop)
                if isinstance(answer, Response):
                    return answer
                hop, redirected_by = answer, hop
        raise TooManyRedirects(str(url), self._settings.max_redirects)

    def _open_pool(self) -> httpcore.AsyncConnectionPool:
        backend = VettingBackend(self._resolver, self._guard)
        return httpcore.AsyncConnectionPool(ssl_context=self._tls, network_backend=backend)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or httpcore.default_ssl_context()

    async def _ask(self, pool: httpcore.AsyncConnectionPool, url: Url) -> Response | Url:
        """One request: the page, or the URL that the server redirects to."""
        async with _exchange(pool, url, self._settings.user_agent) as response:
            headers = _headers(url, response.headers)
            if response.status in REDIRECTS and "location" in headers:
                return _redirect(url, headers["location"])
            if not 200 <= response.status < 300:
                raise HttpStatus(str(url), response.status, _reason(response))
            media = parse_media(headers.get("content-type", [""])[-1])
            if media.name and media.kind is None:
                raise UnsupportedType(str(url), media.name)
            encoding = parse_encoding(str(url), ", ".join(headers.get("content-encoding", [])))
            body = await read_body(str(url), response.aiter_stream(), encoding, self._settings.max_bytes)
            return Response(url, response.status, media, body)


@asynccontextmanager
async def _exchange(
    pool: httpcore.AsyncConnectionPool, url: Url, user_agent: str
) -> AsyncGenerator[httpcore.Response, None]:
    """Send the request; whatever breaks, until the body is read, becomes an error of this plugin."""
    origin = httpcore.URL(
        scheme=url.scheme.encode(), host=url.host.name.strip("[]").encode(), port=url.port, target=url.target.encode()
    )
    headers = {
        "Host": url.authority,
        "User-Agent": user_agent,
        "Accept": ACCEPT,
        "Accept-Encoding": "gzip, deflate",
    }
    try:
        async with pool.stream("GET", origin, headers=list(headers.items())) as response:
            yield response
    except httpcore.TimeoutException as error:
        raise FetchTimeout(url.host.name, CONNECT_TIMEOUT) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise _failure(url.host.name, error) from error


def _headers(url: Url, pairs: Sequence[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Every value of each header, by its name in lower case."""
    if len(pairs) > MAX_HEADERS:
        raise ConnectFailed(url.host.name, f"it sent more than {MAX_HEADERS} headers")
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.decode("ascii", "replace").lower(), []).append(value.decode("utf-8", "replace"))
    return headers


def _redirect(url: Url, locations: list[str]) -> Url:
    if len(set(locations)) > 1:
        raise InvalidUrl(locations[1], f"{url.host} redirects to two different addresses at once")
    return join_url(url, locations[0])


def _reason(response: httpcore.Response) -> str:
    """The standard's words for a status; the server's own only where there are none."""
    try:
        return http.HTTPStatus(response.status).phrase
    except ValueError:
        extensions = cast("dict[str, Any]", response.extensions)
        return extensions.get("reason_phrase", b"").decode("ascii", "ignore")[:80]


def _failure(host: str, error: Exception) -> ToolError:
    """Tell a TLS failure from every other broken connection by what caused it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TlsFailed(host, cause.verify_message)
        if isinstance(cause, ssl.SSLError):
            return TlsFailed(host, (cause.reason or "TLS error").replace("_", " ").lower())
        cause = cause.__cause__ or cause.__context__
    return ConnectFailed(host, str(error)[:200] or type(error).__name__)
