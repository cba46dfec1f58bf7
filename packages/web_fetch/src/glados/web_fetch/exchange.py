"""One request and its answer: what goes on the wire, and what of the answer's head is believed."""

from __future__ import annotations

import asyncio
import http
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

import httpx

from glados.core import ToolError
from glados.web_fetch.errors import ConnectFailed, FetchTimeout, InvalidUrl, TlsFailed
from glados.web_fetch.urls import DEFAULT_PORTS, Url, join_url

MAX_HEADERS = 100


@asynccontextmanager
async def exchange(
    client: httpx.AsyncClient, request: httpx.Request, url: Url, patience: float | None, connect_timeout: float
) -> AsyncGenerator[httpx.Response, None]:
    """Send the request; whatever breaks, until the body is read, becomes an error of this plugin.

    `patience` is how long the answer may take to begin, where that is less than the whole fetch may take.
    """
    try:
        try:
            async with asyncio.timeout(patience):
                response = await client.send(request, auth=None, stream=True)
        except TimeoutError as error:
            raise FetchTimeout(url.host.name, patience or connect_timeout) from error
        async with aclosing(response):
            yield response
    except httpx.TimeoutException as error:
        raise FetchTimeout(url.host.name, connect_timeout, "take a connection") from error
    except (httpx.TransportError, OSError) as error:
        raise _failure(url.host.name, error) from error


def build_request(url: Url, headers: Mapping[str, str], *, forwarded: bool = False) -> httpx.Request:
    """A request with these headers and no other: the client adds its own only to requests that it builds itself.

    One that a proxy forwards names the whole URL in its first line.
    """
    # httpx takes "." and ".." out of a path; the extension puts the target on the wire as it was checked.
    target = str(url) if forwarded else url.target
    pairs = {"Host": url.authority, **headers, "Accept-Encoding": "gzip, deflate"}
    return httpx.Request("GET", _address(url), headers=pairs, extensions={"target": target.encode()})


def _address(url: Url) -> httpx.URL:
    """The URL as httpx has it, made of the checked parts; where httpx reads one differently, nothing is sent."""
    host, target = url.host.name.strip("[]"), url.target.encode()
    try:
        address = httpx.URL(scheme=url.scheme, host=host, port=url.port, raw_path=target)
    except httpx.InvalidURL as error:
        raise InvalidUrl(str(url), str(error)) from error
    port = address.port or DEFAULT_PORTS[url.scheme]
    read = (address.scheme, address.userinfo, address.raw_host, port, address.netloc)
    same_target = address.raw_path == target or b"/." in target  # a path with dots may have lost them
    if read != (url.scheme, b"", host.encode(), url.port, url.authority.encode()) or not same_target:
        raise InvalidUrl(str(url), "it can be read in two ways")
    return address


def read_headers(url: Url, pairs: Sequence[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Every value of each header, by its name in lower case."""
    if len(pairs) > MAX_HEADERS:
        raise ConnectFailed(url.host.name, f"it sent more than {MAX_HEADERS} headers")
    headers: dict[str, list[str]] = {}
    for name, value in pairs:
        headers.setdefault(name.decode("ascii", "replace").lower(), []).append(value.decode("utf-8", "replace"))
    return headers


def redirect_target(url: Url, locations: list[str]) -> Url:
    """Where a redirect leads; two answers to that are none."""
    if len(set(locations)) > 1:
        raise InvalidUrl(locations[1], f"{url.host} redirects to two different addresses at once")
    return join_url(url, locations[0])


def reason_of(response: httpx.Response) -> str:
    """The standard's words for a status; the server's own only where there are none."""
    try:
        return http.HTTPStatus(response.status_code).phrase
    except ValueError:
        return response.reason_phrase[:80]


def _failure(host: str, error: Exception) -> ToolError:
    """Tell a TLS failure from every other broken connection by what caused it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TlsFailed(host, cause.verify_message)
        if isinstance(cause, ssl.SSLError):
            return TlsFailed(host, (cause.reason or "TLS error").replace("_", " ").lower())
        cause = cause.__cause__ or cause.__context__
    return ConnectFailed(host, str(error)[:200] or type(error).__name__)
