from __future__ import annotations

from glados import web_fetch
from glados.core import ToolError
from glados.web_fetch import errors


def test_the_public_names() -> None:
    assert web_fetch.__all__ == ["FetchResult", "Mode", "Resolver", "WebFetchService", "WebFetchSettings"]
    assert all(hasattr(web_fetch, name) for name in web_fetch.__all__)


def test_each_error_has_a_code_of_its_own() -> None:
    codes = [
        value.code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, ToolError) and value is not ToolError
    ]
    assert sorted(codes) == [
        "address_not_allowed",
        "busy",
        "connect_failed",
        "decode_failed",
        "dns_failed",
        "domain_not_allowed",
        "http_status",
        "invalid_domain",
        "invalid_url",
        "port_not_allowed",
        "proxy_failed",
        "robots_disallowed",
        "robots_unreachable",
        "timeout",
        "tls_failed",
        "too_complex",
        "too_large",
        "too_many_redirects",
        "unsupported_type",
    ]
