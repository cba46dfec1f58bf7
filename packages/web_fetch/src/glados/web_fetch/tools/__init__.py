"""The tools of the web fetch plugin."""

from glados.web_fetch.tools.add_domain import add_domain
from glados.web_fetch.tools.fetch import fetch
from glados.web_fetch.tools.list_domains import list_domains
from glados.web_fetch.tools.remove_domain import remove_domain

TOOLS = (add_domain, fetch, list_domains, remove_domain)

__all__ = ["TOOLS", "add_domain", "fetch", "list_domains", "remove_domain"]
