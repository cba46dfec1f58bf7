"""The web fetch plugin: pages as Markdown, HTML or links, from hosts that a person has allowed."""

from glados.web_fetch.resolver import Resolver
from glados.web_fetch.service import FetchResult, WebFetchService
from glados.web_fetch.settings import Mode, WebFetchSettings

__all__ = ["FetchResult", "Mode", "Resolver", "WebFetchService", "WebFetchSettings"]
