"""web-fetch.list-domains."""

from __future__ import annotations

from pydantic import BaseModel, Field

from glados.core import ToolContext, tool
from glados.web_fetch.service import WebFetchService


class ListDomainsOutput(BaseModel):
    """The allowlist."""

    domains: list[str] = Field(description="Hosts, and wildcards such as *.example.com, in alphabetical order.")


@tool("web-fetch.list-domains", read_only=True, concurrent=True, idempotent=True, open_world=False)
async def list_domains(ctx: ToolContext) -> ListDomainsOutput:
    """List the domains on the allowlist, which are the only ones whose pages can be fetched."""
    return ListDomainsOutput(domains=await ctx.services.get(WebFetchService).list_domains())
