"""web-fetch.fetch."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from glados.core import PermissionRequest, ToolContext, tool
from glados.web_fetch.pages import Content
from glados.web_fetch.service import FetchResult, WebFetchService
from glados.web_fetch.settings import MAX_CHARACTERS, MAX_TIMEOUT, Mode
from glados.web_fetch.urls import parse_url

MAX_OFFSET = 1_000_000_000


class FetchInput(BaseModel):
    """Which page, and how."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(description="The full address of the page, beginning with https:// or http://.")
    mode: Mode | None = Field(
        default=None,
        description="markdown: the page as Markdown; html: its source; links: a JSON array of its links (text, href).",
    )
    max_characters: int | None = Field(
        default=None,
        ge=1,
        le=MAX_CHARACTERS,
        description="Return at most so many characters; content_length says how many there are.",
    )
    offset: int = Field(
        default=0,
        ge=0,
        le=MAX_OFFSET,
        description="Begin at this character: to read on in a page, give the next_offset of the piece before.",
    )
    content: Content = Field(
        default="main",
        description="main: the article without menus and the like, where there is one; page: all of the page.",
    )
    refresh: bool = Field(
        default=False, description="Ask the server even if the page was fetched in the last few minutes."
    )


def check_url(input: FetchInput) -> None:
    """Refuse an address that no fetch could begin with, before anybody is asked about it."""
    parse_url(input.url)


def permission(input: FetchInput) -> PermissionRequest:
    """Rules can match the host: `web-fetch.fetch(domain=*.python.org)`."""
    url = parse_url(input.url)
    return PermissionRequest({"domain": url.host.name}, f"Fetch {url}")


@tool(
    "web-fetch.fetch",
    read_only=True,
    concurrent=True,
    open_world=True,
    # The service's own limits come first, and their errors say more.
    timeout=MAX_TIMEOUT + 30,
    max_result_chars=2 * MAX_CHARACTERS,
    validate=check_url,
    permission=permission,
)
async def fetch(input: FetchInput, ctx: ToolContext) -> FetchResult:
    """Fetch a web page and return its content as Markdown, HTML, or a list of its links.

    Only hosts on the allowlist can be fetched; no JavaScript is run. A page that is longer than max_characters is read
    on with offset; pages are kept for a few minutes.
    """
    service = ctx.services.get(WebFetchService)
    return await service.fetch(
        input.url,
        mode=input.mode,
        max_characters=input.max_characters,
        offset=input.offset,
        content=input.content,
        refresh=input.refresh,
    )
