"""WebFetchService: what the tools do, for whoever wants it from Python."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from glados.core import ForbiddenAddress
from glados.database import DatabaseService
from glados.web_fetch.cache import Cache, Key, Snapshot
from glados.web_fetch.errors import DomainNotAllowed
from glados.web_fetch.flights import Flights
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.hosts import InvalidHost, parse_host
from glados.web_fetch.pages import Content
from glados.web_fetch.paging import cut_links, cut_text
from glados.web_fetch.resolver import Resolver, SystemResolver
from glados.web_fetch.rules import check_rule, parse_rule, rules_covering
from glados.web_fetch.settings import Mode, WebFetchSettings
from glados.web_fetch.urls import Url, parse_url
from glados.web_fetch.workers import in_thread

if TYPE_CHECKING:
    from glados.web_fetch.allowlist import Allowlist
    from glados.web_fetch.loader import Loader


class FetchResult(BaseModel):
    """A page, or a piece of it, in the mode that was asked for."""

    url: str = Field(description="The address that was asked for.")
    final_url: str = Field(description="The address that the page came from, after redirects.")
    domain: str = Field(description="The host that was asked for.")
    mode: Mode
    title: str | None = Field(description="The page's title.")
    published: str | None = Field(description="When the page says it was published.")
    content: str = Field(description="The page; in mode links a JSON array of objects with text and href.")
    truncated: bool = Field(description="Whether the content was cut at max_characters: next_offset reads on.")
    body_truncated: bool = Field(description="Whether the server sent more bytes than are read.")
    content_length: int = Field(description="How many characters the whole content has.")
    offset: int = Field(description="Where in the whole content this piece begins.")
    next_offset: int | None = Field(description="The offset that reads on behind this piece; null behind the last.")
    has_more: bool = Field(description="Whether there is more behind this piece.")
    removed_characters: int = Field(description="How many characters that nobody would see were left out.")
    replaced_characters: int = Field(description="How many characters could not be decoded.")
    cached: bool = Field(description="Whether this is a copy that was fetched before.")
    status: int = Field(description="The HTTP status.")
    content_type: str = Field(description="The page's content type; empty where the server named none.")


class WebFetchService:
    """Fetches pages from the hosts on the allowlist, and keeps the list."""

    def __init__(
        self,
        database: DatabaseService,
        settings: WebFetchSettings,
        resolver: Resolver | None = None,
        forbidden: Callable[[], Sequence[ForbiddenAddress]] = tuple,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._settings = settings
        self._resolver = resolver or SystemResolver()
        self._guard = AddressGuard(settings.allowed_ports, settings.allowed_addresses, forbidden)
        self._clock = clock
        self._cache = Cache(settings.cache_ttl, settings.cache_max_bytes, clock)
        self._flights = Flights[Snapshot]()
        self._opening = asyncio.Lock()
        self._opened_allowlist: Allowlist | None = None
        self._opened_loader: Loader | None = None

    async def fetch(
        self,
        url: str,
        *,
        mode: Mode | None = None,
        max_characters: int | None = None,
        offset: int = 0,
        content: Content = "main",
        refresh: bool = False,
    ) -> FetchResult:
        """Fetch a page; what is left out is taken from the settings."""
        mode = mode or self._settings.default_mode
        limit = self._settings.max_characters if max_characters is None else max_characters
        key = Key(parse_url(url), mode, content)
        snapshot, cached = await self._snapshot(key, refresh=refresh, offset=offset)
        page = snapshot.page
        piece = (cut_links if mode == "links" else cut_text)(page.text, offset, limit)
        if piece.next_offset is not None:
            self._cache.mark(key, snapshot, piece.next_offset)
        return FetchResult(
            url=url,
            final_url=str(snapshot.hops[-1]),
            domain=key.url.host.name,
            mode=mode,
            title=page.title,
            published=page.published,
            content=piece.content,
            truncated=piece.next_offset is not None,
            body_truncated=snapshot.body_truncated,
            content_length=len(page.text),
            offset=offset,
            next_offset=piece.next_offset,
            has_more=piece.next_offset is not None,
            removed_characters=page.removed,
            replaced_characters=page.replaced,
            cached=cached,
            status=snapshot.status,
            content_type=snapshot.content_type,
        )

    async def is_allowed(self, domain: str) -> bool:
        """Whether a host is on the allowlist, by its name or by a wildcard."""
        try:
            return await (await self._allowlist()).has_any(rules_covering(parse_host(domain)))
        except InvalidHost:
            return False

    async def add_domain(self, domain: str) -> bool:
        """Allow a host, or `*.example.com`; False if it was allowed already."""
        return await (await self._allowlist()).add(check_rule(domain, self._guard.is_listed))

    async def remove_domain(self, domain: str) -> bool:
        """Take a rule off the allowlist; False if it was not on it."""
        return await (await self._allowlist()).remove(parse_rule(domain))

    async def list_domains(self) -> list[str]:
        """Every rule of the allowlist."""
        return await (await self._allowlist()).rules()

    async def close(self) -> None:
        """End the fetches under way, and the processes that convert pages."""
        await self._flights.close()
        if self._opened_loader is not None:
            await self._opened_loader.close()

    async def _snapshot(self, key: Key, *, refresh: bool, offset: int) -> tuple[Snapshot, bool]:
        """The page, and whether it was kept; who reads on reads in the same copy for as long as there is one."""
        begun = self._cache.get(key, offset)
        if begun is not None and not refresh and (offset > 0 or self._cache.is_fresh(key)):
            await self._admit_hops(begun)
            return begun, True
        kept = self._cache.get(key)
        snapshot, leads = await self._flights.join((key, refresh), lambda: self._load(key, kept))
        if not leads:
            await self._admit_hops(snapshot)
        return snapshot, kept is not None and snapshot.page is kept.page

    async def _load(self, key: Key, kept: Snapshot | None) -> Snapshot:
        snapshot = await (await self._loader()).load(key, kept)
        self._cache.put(key, snapshot)
        return snapshot

    async def _admit(self, url: Url, redirected_by: Url | None) -> None:
        self._guard.check_url(url)
        if not await (await self._allowlist()).has_any(rules_covering(url.host)):
            raise DomainNotAllowed(url.host.name, None if redirected_by is None else redirected_by.host.name)

    async def _admit_hops(self, snapshot: Snapshot) -> None:
        """Every host that a copy came by has to be allowed still, on each call."""
        for before, hop in pairwise((None, *snapshot.hops)):
            if hop is not None and (before is None or hop.host != before.host):
                await self._admit(hop, before)

    async def _allowlist(self) -> Allowlist:
        if self._opened_allowlist is None:
            # SQLModel is loaded here, with the first question to the table.
            await in_thread(import_module, "glados.web_fetch.allowlist")
            from glados.web_fetch.allowlist import Allowlist

            self._opened_allowlist = Allowlist(self._database)
        return self._opened_allowlist

    async def _loader(self) -> Loader:
        async with self._opening:
            if self._opened_loader is None:
                # httpx and the certificates are loaded here, with the first fetch; for that long nothing else waits.
                await in_thread(import_module, "glados.web_fetch.loader")
                self._opened_loader = await self._open_loader()
            return self._opened_loader

    async def _open_loader(self) -> Loader:
        from glados.web_fetch.converter import Converter
        from glados.web_fetch.http import HttpClient
        from glados.web_fetch.loader import Loader
        from glados.web_fetch.robots import Robots
        from glados.web_fetch.transport import warmed_up

        settings = self._settings
        http = HttpClient(settings, self._guard, self._resolver, await in_thread(warmed_up))
        robots = Robots(http, settings.user_agent, settings.timeout, self._clock) if settings.robots == "obey" else None
        return Loader(settings, http, Converter(settings), robots, self._admit)


@asynccontextmanager
async def open_service(
    database: DatabaseService,
    settings: WebFetchSettings,
    resolver: Resolver,
    forbidden: Callable[[], Sequence[ForbiddenAddress]],
) -> AsyncGenerator[WebFetchService, None]:
    """The service while the plugin is there."""
    service = WebFetchService(database, settings, resolver, forbidden)
    try:
        yield service
    finally:
        await service.close()
