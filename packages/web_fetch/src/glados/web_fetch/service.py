"""WebFetchService: what the tools do, for whoever wants it from Python."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from glados.core import ForbiddenAddress
from glados.database import DatabaseService
from glados.web_fetch.convert import convert
from glados.web_fetch.errors import DomainNotAllowed, FetchTimeout
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.hosts import InvalidHost, parse_host
from glados.web_fetch.links import links_json
from glados.web_fetch.pages import Source
from glados.web_fetch.resolver import Resolver, SystemResolver
from glados.web_fetch.rules import check_rule, parse_rule, rules_covering
from glados.web_fetch.settings import Mode, WebFetchSettings
from glados.web_fetch.urls import Url, parse_url
from glados.web_fetch.workers import in_thread

if TYPE_CHECKING:
    from glados.web_fetch.allowlist import Allowlist
    from glados.web_fetch.http import HttpClient


class FetchResult(BaseModel):
    """A page in the mode that was asked for."""

    url: str = Field(description="The address that was asked for.")
    domain: str = Field(description="Its host.")
    mode: Mode
    content: str = Field(description="The page; in mode links a JSON array of objects with text and href.")
    truncated: bool = Field(description="Whether the content was cut at max_characters.")
    content_length: int = Field(description="How many characters the content has in all.")
    final_url: str = Field(description="The address that the page came from, after redirects.")
    title: str | None = Field(description="The page's title.")
    status: int = Field(description="The HTTP status.")
    content_type: str = Field(description="The page's content type; empty where the server named none.")
    body_truncated: bool = Field(description="Whether the server sent more bytes than are read.")


class WebFetchService:
    """Fetches pages from the hosts on the allowlist, and keeps the list."""

    def __init__(
        self,
        database: DatabaseService,
        settings: WebFetchSettings,
        resolver: Resolver | None = None,
        forbidden: Callable[[], Sequence[ForbiddenAddress]] = tuple,
    ) -> None:
        self._database = database
        self._settings = settings
        self._resolver = resolver or SystemResolver()
        self._guard = AddressGuard(settings.allowed_ports, settings.allowed_addresses, forbidden)

    async def fetch(self, url: str, *, mode: Mode | None = None, max_characters: int | None = None) -> FetchResult:
        """Fetch a page; what is left out is taken from the settings."""
        requested = parse_url(url)
        mode = mode or self._settings.default_mode
        limit = self._settings.max_characters if max_characters is None else max_characters
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._http.get(requested, self._admit)
                source = Source(str(response.url), response.media, response.body.data)
                page = await in_thread(convert, source, mode, "page")
        except TimeoutError as error:
            raise FetchTimeout(requested.host.name, self._settings.timeout) from error
        content, length = _cut(page.text, mode, limit)
        return FetchResult(
            url=url,
            domain=requested.host.name,
            mode=mode,
            content=content,
            truncated=length > len(content),
            content_length=length,
            final_url=str(response.url),
            title=page.title,
            status=response.status,
            content_type=response.media.name,
            body_truncated=response.body.truncated,
        )

    async def is_allowed(self, domain: str) -> bool:
        """Whether a host is on the allowlist, by its name or by a wildcard."""
        try:
            return await self._allowlist.has_any(rules_covering(parse_host(domain)))
        except InvalidHost:
            return False

    async def add_domain(self, domain: str) -> bool:
        """Allow a host, or `*.example.com`; False if it was allowed already."""
        return await self._allowlist.add(check_rule(domain, self._guard.is_listed))

    async def remove_domain(self, domain: str) -> bool:
        """Take a rule off the allowlist; False if it was not on it."""
        return await self._allowlist.remove(parse_rule(domain))

    async def list_domains(self) -> list[str]:
        """Every rule of the allowlist."""
        return await self._allowlist.rules()

    async def _admit(self, url: Url, redirected_by: Url | None) -> None:
        self._guard.check_url(url)
        if not await self._allowlist.has_any(rules_covering(url.host)):
            raise DomainNotAllowed(url.host.name, None if redirected_by is None else redirected_by.host.name)

    @cached_property
    def _allowlist(self) -> Allowlist:
        # SQLModel is loaded here, with the first question to the table.
        from glados.web_fetch.allowlist import Allowlist

        return Allowlist(self._database)

    @cached_property
    def _http(self) -> HttpClient:
        # httpx is loaded here, with the first fetch.
        from glados.web_fetch.http import HttpClient

        return HttpClient(self._settings, self._guard, self._resolver)


def _cut(text: str, mode: Mode, limit: int) -> tuple[str, int]:
    """The beginning of a text, and how long all of it is; a list of links is cut between two of them."""
    return links_json(json.loads(text), limit) if mode == "links" else (text[:limit], len(text))
