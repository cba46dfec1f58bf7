"""The web fetch plugin: pages as Markdown, HTML or links, from hosts that a person has allowed.

Each name is loaded when it is first asked for: the processes that convert pages need none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glados.web_fetch.resolver import Resolver
    from glados.web_fetch.service import FetchResult, WebFetchService
    from glados.web_fetch.settings import Mode, WebFetchSettings

_MODULE_OF = {
    "FetchResult": "service",
    "Mode": "settings",
    "Resolver": "resolver",
    "WebFetchService": "service",
    "WebFetchSettings": "settings",
}

__all__ = ["FetchResult", "Mode", "Resolver", "WebFetchService", "WebFetchSettings"]


def __getattr__(name: str) -> Any:
    """Load one of the names, and keep it."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
