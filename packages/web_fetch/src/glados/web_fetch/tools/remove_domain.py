"""web-fetch.remove-domain."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from glados.core import PermissionRequest, ToolContext, tool
from glados.web_fetch.rules import parse_rule
from glados.web_fetch.service import WebFetchService


class RemoveDomainInput(BaseModel):
    """Which rule to take off the list."""

    model_config = ConfigDict(extra="forbid")

    domain: str = Field(description="A rule as web-fetch.list-domains shows it, such as example.com or *.example.com.")


class RemoveDomainOutput(BaseModel):
    """Whether the list has changed."""

    domain: str = Field(description="The rule that is not on the allowlist any more.")
    removed: bool = Field(description="False if it was not there.")


def check_domain(input: RemoveDomainInput) -> None:
    """Refuse what is no rule before a person is asked."""
    parse_rule(input.domain)


def permission(input: RemoveDomainInput) -> PermissionRequest:
    """Rules can match the host; the question says what a yes does."""
    rule = parse_rule(input.domain)
    return PermissionRequest({"domain": rule}, f"Take {rule} off the list of hosts that can be fetched")


@tool("web-fetch.remove-domain", idempotent=True, open_world=False, validate=check_domain, permission=permission)
async def remove_domain(input: RemoveDomainInput, ctx: ToolContext) -> RemoveDomainOutput:
    """Remove a domain from the allowlist, so that its pages cannot be fetched any more; a person is asked first."""
    removed = await ctx.services.get(WebFetchService).remove_domain(input.domain)
    return RemoveDomainOutput(domain=parse_rule(input.domain), removed=removed)
