"""From a URL to a snapshot of its page: asked for, converted, and a Markdown version taken where the site has one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from glados.core import ToolError
from glados.web_fetch.cache import Key, Snapshot
from glados.web_fetch.converter import Converter
from glados.web_fetch.errors import FetchTimeout, NoFreePlace
from glados.web_fetch.http import ACCEPT, NOT_MODIFIED, Admit, Ask, HttpClient, Response
from glados.web_fetch.media import sniffed_kind
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.places import ended_waiting
from glados.web_fetch.robots import Robots
from glados.web_fetch.settings import WebFetchSettings
from glados.web_fetch.urls import Url, join_url

ACCEPT_MARKDOWN = (
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1"
)
ALTERNATE_TIMEOUT = 10.0
_MARKDOWN = frozenset({"text/markdown", "text/x-markdown", "text/plain"})


class Loader:
    """Loads pages; every URL that it asks for is admitted first."""

    def __init__(
        self,
        settings: WebFetchSettings,
        http: HttpClient,
        converter: Converter,
        robots: Robots | None,
        admit: Admit,
    ) -> None:
        self._settings = settings
        self._http = http
        self._converter = converter
        self._robots = robots
        self._admit = admit

    async def load(self, key: Key, kept: Snapshot | None) -> Snapshot:
        """The page as it is now; what is kept itself, where the server says that it has not changed."""
        try:
            async with asyncio.timeout(self._settings.timeout):
                return await self._load(key, kept)
        except TimeoutError as error:
            late = NoFreePlace if ended_waiting(error) else FetchTimeout
            raise late(key.url.host.name, self._settings.timeout) from error

    async def close(self) -> None:
        """End the processes that convert pages."""
        await self._converter.close()

    async def _load(self, key: Key, kept: Snapshot | None) -> Snapshot:
        wants_markdown = key.mode == "markdown" and key.content == "main"
        known = None if kept is None else kept.validators
        response = await self._get(key.url, Ask(ACCEPT_MARKDOWN if wants_markdown else ACCEPT, known))
        if kept is not None and response.status == NOT_MODIFIED:
            return replace(kept, hops=response.hops, may_be_stored=response.may_be_stored)
        page = await self._convert(response, key)
        if wants_markdown and page.alternate is not None:
            alternate = await self._alternate(page.alternate, response, key)
            if alternate is not None:
                # The server's word on the page that was asked for says nothing about this one: next time all is asked.
                text = replace(alternate[1], title=page.title, published=page.published)
                return replace(_snapshot(alternate[0], text), validators=None)
        return _snapshot(response, page)

    async def _alternate(self, address: str, response: Response, key: Key) -> tuple[Response, Page] | None:
        """The Markdown version that a page names; whatever is wrong with it, the page itself is there."""
        try:
            url = join_url(response.url, address)
            is_downgrade = response.url.scheme == "https" and url.scheme != "https"
            if url == response.url or url.host != response.url.host or is_downgrade:
                return None
            async with asyncio.timeout(min(ALTERNATE_TIMEOUT, self._settings.timeout / 3)):
                found = await self._get(url, Ask(ACCEPT_MARKDOWN, reads=lambda media: media.name in _MARKDOWN))
                is_text = found.body.data.strip() and sniffed_kind(found.body.data) == "text"
                if not is_text or found.url.host != response.url.host:
                    return None
                hops = (*response.hops, *found.hops)
                return replace(found, hops=hops), await self._convert(found, key)
        except (ToolError, TimeoutError):
            return None

    async def _get(self, url: Url, ask: Ask) -> Response:
        return await self._http.get(url, self._admit, ask, None if self._robots is None else self._consent)

    async def _consent(self, url: Url) -> None:
        assert self._robots is not None
        await self._robots.check(url, self._admit)

    async def _convert(self, response: Response, key: Key) -> Page:
        source = Source(str(response.url), response.media, response.body.data)
        return await self._converter.convert(source, key.mode, key.content)


def _snapshot(response: Response, page: Page) -> Snapshot:
    return Snapshot(
        page,
        response.hops,
        response.status,
        response.media.name,
        response.body.truncated,
        response.validators,
        response.may_be_stored,
    )
