"""URLs, read strictly: what is checked here is exactly what is asked for on the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin

from glados.web_fetch.errors import InvalidUrl
from glados.web_fetch.hosts import Host, InvalidHost, hidden_character, parse_host

MAX_URL = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.ASCII)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(?::(.*))?", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
# Everything that RFC 3986 lets stand in a path or query, and escapes that are there already.
_SAFE = "%:/?[]@!$&'()*+,;=~"


@dataclass(frozen=True, slots=True)
class Url:
    """An http(s) URL in its parts; `target` is the path and query as they go into the request line."""

    scheme: str
    host: Host
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them: the scheme's own port is left out."""
        return self.host.name if self.port == DEFAULT_PORTS[self.scheme] else f"{self.host.name}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Url:
    """Read a URL, or say why it is none that can be fetched."""
    _check_characters(text)
    match = _URL.fullmatch(text)
    if match is None:
        raise InvalidUrl(text, "it does not begin with 'https://' or 'http://'")
    scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4] or ""
    host, port = _authority(text, authority, DEFAULT_PORTS[scheme])
    return Url(scheme, host, port, quote(path or "/", safe=_SAFE) + quote(query, safe=_SAFE))


def join_url(base: Url, location: str) -> Url:
    """The URL that a redirect from `base` leads to."""
    _check_characters(location)  # before urljoin, which drops tabs and line ends
    if location.startswith("///"):
        raise InvalidUrl(location, "browsers read it as a host and other programs as a path")
    try:
        joined = urljoin(str(base), location)
    except ValueError:
        raise InvalidUrl(location, "it is no URL") from None
    return parse_url(joined)


def secured(url: Url) -> Url | None:
    """The same page over https, where only the scheme speaks against it: a host by its name, on its scheme's port."""
    if url.scheme != "http" or url.port != DEFAULT_PORTS["http"] or url.host.address is not None:
        return None
    return Url("https", url.host, DEFAULT_PORTS["https"], url.target)


def _check_characters(text: str) -> None:
    if len(text) > MAX_URL:
        raise InvalidUrl(text, f"it is longer than {MAX_URL} characters")
    hidden = hidden_character(text)
    if hidden is not None:
        raise InvalidUrl(text, f"it contains the character {hidden}")
    if "\\" in text:
        raise InvalidUrl(text, "it contains a backslash")


def _authority(text: str, authority: str, default_port: int) -> tuple[Host, int]:
    if "@" in authority:
        raise InvalidUrl(text, "it contains a user name or password")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise InvalidUrl(text, "its host is malformed")
    try:
        host = parse_host(match[1])
    except InvalidHost as error:
        raise InvalidUrl(text, str(error)) from None
    if match[2] is None:
        return host, default_port
    if not _PORT.fullmatch(match[2]) or int(match[2]) > 65535:
        raise InvalidUrl(text, "its port is not a number from 1 to 65535")
    return host, int(match[2])
