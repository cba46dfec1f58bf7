"""One GET with everything checked at every hop; the only module that speaks HTTP.

httpx sends the requests, through a pool whose backend connects to vetted addresses only. It is given nothing to decide:
the URL goes in as the parts that were checked, the headers are ours, and what the answer's headers say is read here.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import httpcore
import httpx

from glados.web_fetch.body import Body, parse_encoding, read_body
from glados.web_fetch.errors import (
    AddressNotAllowed,
    ConnectFailed,
    DnsFailed,
    FetchTimeout,
    HttpStatus,
    PortNotAllowed,
    ProxyFailed,
    RobotsUnreachable,
    TlsFailed,
    TooManyRedirects,
    UnsupportedType,
)
from glados.web_fetch.exchange import build_request, exchange, read_headers, reason_of, redirect_target
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.lanes import Lanes
from glados.web_fetch.media import Media, parse_media
from glados.web_fetch.proxy import ProxyBackend, parse_proxy
from glados.web_fetch.resolver import Resolver, vetted_addresses
from glados.web_fetch.settings import WebFetchSettings
from glados.web_fetch.transport import Network, VettingBackend, VettingTransport, trusted_authorities
from glados.web_fetch.urls import Url, secured

NOT_MODIFIED, PROXY_REFUSAL = 304, 407
MAX_VALIDATOR = 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# How long a server may take to answer over https where http was asked for.
UPGRADE_TIMEOUT = 5.0
ACCEPT = "text/html, application/xhtml+xml, text/markdown;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1"


NO_MEDIA, EMPTY = Media(), Body(b"")


class Admit(Protocol):
    """Decides whether a URL may be asked for; raises a ToolError where not."""

    async def __call__(self, url: Url, redirected_by: Url | None) -> None: ...


class Consent(Protocol):
    """Asks the site itself whether it wants a URL to be asked for; raises a ToolError where not."""

    async def __call__(self, url: Url) -> None: ...


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server knows a version of one page by; it is asked whether that is still the one."""

    url: Url
    etag: str = ""
    modified: str = ""

    def headers(self) -> dict[str, str]:
        """The headers of the question."""
        pairs = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in pairs.items() if value}


@dataclass(frozen=True, slots=True)
class Ask:
    """What a GET asks for besides the URL, and how much of it is read."""

    accept: str = ACCEPT
    known: Validators | None = None
    max_bytes: int | None = None
    reads: Callable[[Media], bool] = field(default=lambda media: not media.name or media.kind is not None)


@dataclass(frozen=True, slots=True)
class Response:
    """A page as it came: the hops on the way to it, and the body, decompressed but not decoded."""

    hops: tuple[Url, ...]
    status: int
    media: Media = NO_MEDIA
    body: Body = EMPTY
    validators: Validators | None = None
    may_be_stored: bool = True

    @property
    def url(self) -> Url:
        """Where the redirects ended."""
        return self.hops[-1]


@dataclass(slots=True)
class _Walk:
    """One fetch on its way: what it asks for, where it has been, and who is not asked over https again."""

    ask: Ask
    consent: Consent | None
    hops: list[Url] = field(default_factory=list[Url])
    plain: set[str] = field(default_factory=set[str])


class HttpClient:
    """Fetches pages for nobody in particular: no cookies, no credentials, nothing from the environment."""

    def __init__(
        self,
        settings: WebFetchSettings,
        guard: AddressGuard,
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._settings = settings
        self._guard = guard
        self._resolver = resolver
        self._given_tls = tls
        self._given_network = network
        self._lanes = Lanes(settings.concurrency, settings.concurrency_per_host)
        proxy = settings.proxy
        self._proxy = None if proxy is None else parse_proxy(proxy.get_secret_value())

    async def get(self, url: Url, admit: Admit, ask: Ask | None = None, consent: Consent | None = None) -> Response:
        """The page at `url`, redirects followed; each hop is admitted, resolved and vetted like the first."""
        walk, hop = _Walk(ask or Ask(), consent), url
        async with self._open_client() as client:
            for _ in range(self._settings.max_redirects + 1):
                await admit(hop, walk.hops[-1] if walk.hops else None)
                answer = await self._upgraded(client, hop, walk) or await self._step(client, hop, walk)
                if isinstance(answer, Response):
                    return answer
                hop = answer
        raise TooManyRedirects(str(url), self._settings.max_redirects)

    def _open_client(self) -> httpx.AsyncClient:
        transport = VettingTransport(self._tls, self._backend(tunnel=True))
        mounts = {} if self._proxy is None else {"http://": VettingTransport(self._tls, self._backend(tunnel=False))}
        no_timeout = httpx.Timeout(None)  # connecting has its own, and the whole fetch a deadline
        return httpx.AsyncClient(
            transport=transport, mounts=mounts, trust_env=False, follow_redirects=False, timeout=no_timeout
        )

    def _backend(self, *, tunnel: bool) -> httpcore.AsyncNetworkBackend:
        below, patience = self._given_network or Network(), self._settings.connect_timeout
        if self._proxy is None:
            return VettingBackend(self._resolver, self._guard, below, patience)
        return ProxyBackend(self._proxy, self._resolver, self._guard, below, patience, tunnel=tunnel, tls=self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or trusted_authorities()

    async def _upgraded(self, client: httpx.AsyncClient, url: Url, walk: _Walk) -> Response | Url | None:
        """The answer over https where http was asked for; None where only http will do."""
        upgrade = secured(url)
        if upgrade is None or url.host.name in walk.plain or not await self._is_public(upgrade):
            return None
        try:
            return await self._step(client, upgrade, walk, min(UPGRADE_TIMEOUT, self._settings.timeout / 3))
        except (ConnectFailed, ProxyFailed, TlsFailed, FetchTimeout, RobotsUnreachable):
            walk.plain.add(url.host.name)
            return None

    async def _is_public(self, url: Url) -> bool:
        """Whether the host is one of the public internet, as far as can be told here."""
        try:
            self._guard.check_port(url.host.name, url.port)
            addresses = await vetted_addresses(url.host.name, url.port, self._resolver, self._guard)
        except DnsFailed:
            if self._proxy is None:
                raise
            return False
        except (AddressNotAllowed, PortNotAllowed):  # whether that also holds for http, the fetch itself finds out
            return False
        return not any(self._guard.is_listed(address) for address in addresses)

    async def _step(
        self, client: httpx.AsyncClient, url: Url, walk: _Walk, patience: float | None = None
    ) -> Response | Url:
        """One hop: the page, or the URL that the server redirects to."""
        if walk.consent is not None:
            await walk.consent(url)
        async with self._lanes.enter(url.host.name):
            answer = await self._ask(client, url, walk, patience)
        walk.hops.append(url)
        if isinstance(answer, Url) and url.scheme == "https" and answer.scheme == "http" and answer.host == url.host:
            walk.plain.add(url.host.name)  # it sends its visitors back: once more would be without an end
        return answer

    async def _ask(self, client: httpx.AsyncClient, url: Url, walk: _Walk, patience: float | None) -> Response | Url:
        ask, request = walk.ask, self._request(url, walk.ask)
        async with exchange(client, request, url, patience, self._settings.connect_timeout) as response:
            headers = read_headers(url, response.extensions["headers"])
            status, hops = response.status_code, (*walk.hops, url)
            if status in REDIRECTS and "location" in headers:
                return redirect_target(url, headers["location"])
            if status == NOT_MODIFIED and ask.known is not None and ask.known.url == url:
                return Response(hops, status, may_be_stored=_may_be_stored(headers))
            if status == PROXY_REFUSAL and self._is_forwarded(url):
                raise ProxyFailed(url.host.name, f"it answered {status} {reason_of(response)}")
            if not 200 <= status < 300:
                raise HttpStatus(str(url), status, reason_of(response))
            media = parse_media(headers.get("content-type", [""])[-1])
            if not ask.reads(media):
                raise UnsupportedType(str(url), media.name)
            encoding = parse_encoding(str(url), ", ".join(headers.get("content-encoding", [])))
            limit = ask.max_bytes or self._settings.max_bytes
            body = await read_body(str(url), response.aiter_raw(), encoding, limit)
            return Response(hops, status, media, body, _validators(url, headers), _may_be_stored(headers))

    def _request(self, url: Url, ask: Ask) -> httpx.Request:
        headers = {"User-Agent": self._settings.user_agent, "Accept": ask.accept}
        if ask.known is not None and ask.known.url == url:
            headers |= ask.known.headers()
        forwarded = self._is_forwarded(url)
        if forwarded and self._proxy is not None and self._proxy.authorization is not None:
            headers["Proxy-Authorization"] = self._proxy.authorization
        return build_request(url, headers, forwarded=forwarded)

    def _is_forwarded(self, url: Url) -> bool:
        """Whether the proxy itself reads the request; https goes through a tunnel."""
        return self._proxy is not None and url.scheme == "http"


def _validators(url: Url, headers: Mapping[str, list[str]]) -> Validators | None:
    """What the server may be asked with next time, if it can be sent back as it came."""
    etag, modified = (_single(headers.get(name, [])) for name in ("etag", "last-modified"))
    return Validators(url, etag, modified) if etag or modified else None


def _single(values: list[str]) -> str:
    usable = len(values) == 1 and len(values[0]) <= MAX_VALIDATOR and values[0].isascii() and values[0].isprintable()
    return values[0] if usable else ""


def _may_be_stored(headers: Mapping[str, list[str]]) -> bool:
    directives = ",".join(headers.get("cache-control", [])).lower().split(",")
    return "no-store" not in (directive.strip() for directive in directives)
