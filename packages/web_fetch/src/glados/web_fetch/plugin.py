"""The web fetch plugin: its settings, service, tools and table."""

from __future__ import annotations

from functools import partial

from glados.core import ForbiddenAddress, Plugin, Prepare, Services, hookimpl
from glados.database import DatabaseService
from glados.web_fetch.resolver import LateResolver, Resolver, SystemResolver
from glados.web_fetch.service import WebFetchService, open_service
from glados.web_fetch.settings import WebFetchSettings
from glados.web_fetch.tools import TOOLS

CONTEXT = """\
You can fetch web pages using the web-fetch.* tools.
Only domains on the allowlist can be fetched. Use web-fetch.list-domains to see allowed domains, and \
web-fetch.add-domain to add new ones before fetching."""


class WebFetchPlugin(Plugin[WebFetchSettings]):
    """Lets the agent read web pages of the hosts that a person has allowed."""

    id = "web-fetch"
    requires = ("database",)
    migrations = "migrations"

    @hookimpl
    async def setup(self, services: Services) -> None:
        """Provide the service, and the resolver that it looks names up with."""
        services.provide(Resolver, SystemResolver)
        services.provide(
            WebFetchService,
            partial(
                open_service,
                services.get(DatabaseService),
                self.settings,
                LateResolver(lambda: services.get(Resolver)),
                lambda: services.all(ForbiddenAddress),
            ),
        )

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        """Contribute the tools, and what the model has to know about the allowlist."""
        prepare.tools.extend(TOOLS)
        prepare.context.append(CONTEXT)
