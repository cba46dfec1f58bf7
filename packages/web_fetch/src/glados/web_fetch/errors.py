"""What can go wrong with a fetch: one code each, and one sentence that says what to do next.

ToolError
├── InvalidUrl            invalid_url           the address is malformed or not http(s)
├── InvalidDomain         invalid_domain        a rule for the allowlist that cannot be one
├── DomainNotAllowed      domain_not_allowed    the host is not on the allowlist
├── AddressNotAllowed     address_not_allowed   the host is, or resolves to, an address that is not public
├── PortNotAllowed        port_not_allowed      a port other than the allowed ones
├── DnsFailed             dns_failed            the name has no address
├── ConnectFailed         connect_failed        no connection, or one that broke or spoke no proper HTTP
├── ProxyFailed           proxy_failed          the configured proxy does not pass the request on
├── TlsFailed             tls_failed            no trustworthy TLS connection
├── FetchTimeout          timeout               not done within the time for one fetch
├── NoFreePlace           busy                  that time was over while other fetches took all places
├── TooManyRedirects      too_many_redirects    a chain of redirects without an end
├── HttpStatus            http_status           the server answered with an error
├── RobotsDisallowed      robots_disallowed     the site does not want programs to read the page
├── RobotsUnreachable     robots_unreachable    what the site wants could not be found out
├── UnsupportedType       unsupported_type      content that is neither a page nor text
├── TooLarge              too_large             a small body that inflates to a huge one
├── DecodeFailed          decode_failed         a body whose compression is broken or unknown
└── TooComplex            too_complex           a page whose conversion takes more time or memory than it may
"""

from __future__ import annotations

from glados.core import ToolError

SHOWN = 200


def shown(text: str) -> str:
    """A value as error messages quote it: escaped, and cut where it is long."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}…"


class InvalidUrl(ToolError):
    """The address is malformed, or one that parsers could read in two ways."""

    code = "invalid_url"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"{shown(url)} cannot be fetched: {reason}; give a full address such as 'https://example.com/page'.",
            url=url[:SHOWN],
        )


class InvalidDomain(ToolError):
    """A rule for the allowlist that is no host name, or would cover too much."""

    code = "invalid_domain"

    def __init__(self, domain: str, reason: str) -> None:
        super().__init__(
            f"{shown(domain)} cannot be on the allowlist: {reason};"
            " give a host such as 'example.com', or '*.example.com' for every host one level below it.",
            domain=domain[:SHOWN],
        )


class DomainNotAllowed(ToolError):
    """The host is not on the allowlist; a person can put it there."""

    code = "domain_not_allowed"

    def __init__(self, domain: str, redirected_by: str | None = None) -> None:
        subject = f"{domain} is"
        if redirected_by is not None:
            subject = f"{redirected_by} redirects to {domain}, which is"
        super().__init__(
            f"{subject} not on the allowlist: ask the user to allow it, or call web-fetch.add-domain with domain"
            f" {domain!r} (a person is asked), then fetch again.",
            domain=domain,
        )


class AddressNotAllowed(ToolError):
    """The host is, or resolves to, an address that no fetch may reach."""

    code = "address_not_allowed"

    def __init__(self, host: str, reason: str, address: str | None = None) -> None:
        super().__init__(
            f"{host} cannot be fetched: {reason}; use a page on a public host instead.",
            domain=host,
            **({} if address is None else {"address": address}),
        )


class PortNotAllowed(ToolError):
    """The URL names a port that no fetch may connect to."""

    code = "port_not_allowed"

    def __init__(self, host: str, port: int, allowed: list[int]) -> None:
        ports = ", ".join(str(number) for number in allowed)
        super().__init__(
            f"Port {port} of {host} cannot be fetched, only {ports} can: use an address without a port number.",
            domain=host,
            port=port,
        )


class DnsFailed(ToolError):
    """The host's name could not be resolved."""

    code = "dns_failed"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"The name {host} could not be resolved ({reason}): check its spelling, or use another site.", domain=host
        )


class ConnectFailed(ToolError):
    """The server could not be reached, hung up, or does not speak proper HTTP."""

    code = "connect_failed"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host} could not be read ({reason}): try again later, or use another site.", domain=host)


class ProxyFailed(ToolError):
    """The proxy could not be reached, or refused; no page is to blame."""

    code = "proxy_failed"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"The proxy did not connect to {host} ({reason}): tell the user to check the setting WEB_FETCH_PROXY.",
            domain=host,
        )


class TlsFailed(ToolError):
    """The server's certificate or TLS version cannot be trusted."""

    code = "tls_failed"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"There is no secure connection to {host} ({reason}): use another site, and tell the user.", domain=host
        )


class FetchTimeout(ToolError):
    """The fetch took longer than one fetch may."""

    code = "timeout"

    def __init__(self, host: str, seconds: float, what: str = "deliver the page") -> None:
        super().__init__(
            f"{host} did not {what} within {seconds:g} s: try again later, or use another site.",
            domain=host,
            seconds=seconds,
        )


class NoFreePlace(ToolError):
    """The time for the fetch was over before it was its turn: nothing is wrong with the host."""

    code = "busy"

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(
            f"The {seconds:g} s for {host} were over while other fetches took all places: try again when they have"
            " ended, and fetch fewer pages at a time.",
            domain=host,
            seconds=seconds,
        )


class TooManyRedirects(ToolError):
    """The page was moved more often than a fetch follows."""

    code = "too_many_redirects"

    def __init__(self, url: str, limit: int) -> None:
        super().__init__(
            f"{shown(url)} redirects more than {limit} times: look for the page's real address.", url=url, limit=limit
        )


class HttpStatus(ToolError):
    """The server answered, but not with the page."""

    code = "http_status"

    def __init__(self, url: str, status: int, reason: str) -> None:
        super().__init__(
            f"{shown(url)} answered {f'{status} {reason}'.strip()}: check the address, or use another page.",
            url=url,
            status=status,
            reason=reason,
        )
        self.status = status


class RobotsDisallowed(ToolError):
    """The site's robots.txt does not allow the page to programs such as this one."""

    code = "robots_disallowed"

    def __init__(self, url: str, host: str) -> None:
        super().__init__(
            f"The robots.txt of {host} does not allow {shown(url)} to programs: use another site,"
            " or ask the user to open the page.",
            url=url,
            domain=host,
        )


class RobotsUnreachable(ToolError):
    """The site's robots.txt could not be read, which counts as a no."""

    code = "robots_unreachable"

    def __init__(self, url: str, host: str, reason: str) -> None:
        super().__init__(
            f"Whether {host} allows {shown(url)} to programs could not be found out (its robots.txt: {reason}):"
            " try again later, or use another site.",
            url=url,
            domain=host,
        )


class UnsupportedType(ToolError):
    """The content is neither a page nor text."""

    code = "unsupported_type"

    def __init__(self, url: str, content_type: str) -> None:
        super().__init__(
            f"{shown(url)} is {content_type or 'of an unknown type'}, and only HTML, plain text, Markdown, JSON"
            " and feeds can be read: look for a web page with the same content.",
            url=url,
            content_type=content_type,
        )


class TooLarge(ToolError):
    """A small compressed body that inflates to more than any page has."""

    code = "too_large"

    def __init__(self, url: str, limit: int) -> None:
        super().__init__(
            f"{shown(url)} inflates to far more than {limit} bytes, as no honest page does: use another page.",
            url=url,
            limit=limit,
        )


class DecodeFailed(ToolError):
    """The body came in a compression that is broken, or that was not asked for."""

    code = "decode_failed"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"The content of {shown(url)} could not be decoded ({reason}): try again, or use another page.", url=url
        )


class TooComplex(ToolError):
    """A page whose conversion met a limit: built so by mistake, or to keep somebody busy."""

    code = "too_complex"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"{shown(url)} is built in a way that takes too much time or memory to read: use another page.", url=url
        )
