"""web-fetch.add-domain."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from glados.core import PermissionRequest, ToolContext, tool
from glados.web_fetch.rules import check_rule, parse_rule
from glados.web_fetch.service import WebFetchService


class AddDomainInput(BaseModel):
    """Which host to allow."""

    model_config = ConfigDict(extra="forbid")

    domain: str = Field(
        description="A host such as example.com, or *.example.com for every host exactly one level below it."
    )


class AddDomainOutput(BaseModel):
    """Whether the list has changed."""

    domain: str = Field(description="The rule as it stands on the allowlist.")
    added: bool = Field(description="False if it was there already.")


def check_domain(input: AddDomainInput) -> None:
    """Refuse what can never be a rule before a person is asked; which IP addresses can, the service knows."""
    check_rule(input.domain, is_listed=lambda _: True)


def permission(input: AddDomainInput) -> PermissionRequest:
    """Rules can match the host; the question says what is allowed by a yes."""
    rule = parse_rule(input.domain)
    return PermissionRequest({"domain": rule}, f"Allow pages of {rule} to be fetched, from now on and without asking")


@tool(
    "web-fetch.add-domain",
    destructive=False,
    idempotent=True,
    open_world=False,
    validate=check_domain,
    permission=permission,
)
async def add_domain(input: AddDomainInput, ctx: ToolContext) -> AddDomainOutput:
    """Add a domain to the allowlist, so that its pages can be fetched; a person is asked first."""
    added = await ctx.services.get(WebFetchService).add_domain(input.domain)
    return AddDomainOutput(domain=parse_rule(input.domain), added=added)
