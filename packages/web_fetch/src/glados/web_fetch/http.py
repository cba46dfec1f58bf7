"""One GET with everything checked at every hop; the only module that speaks HTTP.

httpx sends the requests, through a pool whose backend connects to vetted addresses only. It is given nothing to decide:
the URL goes in as the parts that were checked, the headers are ours, and what the answer's headers say is read here.
"""

from __future__ import annotations

import http
import ssl
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import httpcore
import httpx

from glados.core import PluginError, ToolError
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
from glados.web_fetch.urls import DEFAULT_PORTS, Url, join_url

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
        async with self._open_client() as client:
            for _ in range(self._settings.max_redirects + 1):
                await admit(hop, redirected_by)
                answer = await self._ask(client, hop)
                if isinstance(answer, Response):
                    return answer
                hop, redirected_by = answer, hop
        raise TooManyRedirects(str(url), self._settings.max_redirects)

    def _open_client(self) -> httpx.AsyncClient:
        transport = VettingTransport(self._tls, VettingBackend(self._resolver, self._guard))
        no_timeout = httpx.Timeout(None)  # connecting has its own, and the whole fetch a deadline
        return httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=no_timeout)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or httpcore.default_ssl_context()

    async def _ask(self, client: httpx.AsyncClient, url: Url) -> Response | Url:
        """One request: the page, or the URL that the server redirects to."""
        async with _exchange(client, url, self._settings.user_agent) as response:
            headers = _headers(url, response.extensions["headers"])
            if response.status_code in REDIRECTS and "location" in headers:
                return _redirect(url, headers["location"])
            if not 200 <= response.status_code < 300:
                raise HttpStatus(str(url), response.status_code, _reason(response))
            media = parse_media(headers.get("content-type", [""])[-1])
            if media.name and media.kind is None:
                raise UnsupportedType(str(url), media.name)
            encoding = parse_encoding(str(url), ", ".join(headers.get("content-encoding", [])))
            body = await read_body(str(url), response.aiter_raw(), encoding, self._settings.max_bytes)
            return Response(url, response.status_code, media, body)


@asynccontextmanager
async def _exchange(client: httpx.AsyncClient, url: Url, user_agent: str) -> AsyncGenerator[httpx.Response, None]:
    """Send the request; whatever breaks, until the body is read, becomes an error of this plugin."""
    request = _request(url, user_agent)
    try:
        async with aclosing(await client.send(request, auth=None, stream=True)) as response:
            yield response
    except httpx.TimeoutException as error:
        raise FetchTimeout(url.host.name, CONNECT_TIMEOUT) from error
    except (httpx.TransportError, OSError) as error:
        raise _failure(url.host.name, error) from error


def _request(url: Url, user_agent: str) -> httpx.Request:
    """A request with these headers and no other: the client adds its own only to requests that it builds itself."""
    headers = {
        "Host": url.authority,
        "User-Agent": user_agent,
        "Accept": ACCEPT,
        "Accept-Encoding": "gzip, deflate",
    }
    # httpx takes "." and ".." out of a path; the extension puts the target on the wire as it was checked.
    return httpx.Request("GET", _address(url), headers=headers, extensions={"target": url.target.encode()})


def _address(url: Url) -> httpx.URL:
    """The URL as httpx has it, made of the checked parts; where httpx reads one differently, nothing is sent."""
    host, target = url.host.name.strip("[]"), url.target.encode()
    try:
        address = httpx.URL(scheme=url.scheme, host=host, port=url.port, raw_path=target)
    except httpx.InvalidURL as error:
        raise InvalidUrl(str(url), str(error)) from error
    port = address.port or DEFAULT_PORTS[url.scheme]
    read = (address.scheme, address.userinfo, address.raw_host, port, address.netloc)
    same_target = address.raw_path == target or b"/." in target  # a path with dots may have lost them
    if read != (url.scheme, b"", host.encode(), url.port, url.authority.encode()) or not same_target:
        raise InvalidUrl(str(url), "it can be read in two ways")
    return address


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


def _reason(response: httpx.Response) -> str:
    """The standard's words for a status; the server's own only where there are none."""
    try:
        return http.HTTPStatus(response.status_code).phrase
    except ValueError:
        return response.reason_phrase[:80]


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
