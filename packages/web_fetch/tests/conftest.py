"""Real sockets on loopback: sites that answer as a test tells them to, and a resolver that says where they are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpcore
import pytest

from glados.core import ForbiddenAddress
from glados.database import DatabaseService
from glados.database.testing import open_database
from glados.web_fetch import WebFetchService
from glados.web_fetch.errors import DomainNotAllowed
from glados.web_fetch.guard import AddressGuard
from glados.web_fetch.http import HttpClient, Response
from glados.web_fetch.plugin import WebFetchPlugin
from glados.web_fetch.rules import rules_covering
from glados.web_fetch.settings import WebFetchSettings
from glados.web_fetch.urls import Url, parse_url

HERE = Path(__file__).parent
RULES = frozenset({"good.test", "*.sub.test", "xn--bcher-kva.test"})


def hostile_cases(kind: str) -> list[Any]:
    cases = json.loads((HERE / "hostile_cases.json").read_text())
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] == kind]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "hostile(*ids): which cases of hostile_cases.json the test is about")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `url_case` runs once for each case of kind url, and so on."""
    for name in metafunc.fixturenames:
        if name.endswith("_case"):
            metafunc.parametrize(name, hostile_cases(name.removesuffix("_case")))


def make_reply(body: bytes | str = b"", status: str = "200 OK", headers: Iterable[tuple[str, str]] = ()) -> bytes:
    """A whole HTTP response; text/html unless the headers say otherwise."""
    content = body.encode() if isinstance(body, str) else body
    pairs = [*headers]
    if not any(name.lower() == "content-type" for name, _ in pairs):
        pairs.append(("Content-Type", "text/html; charset=utf-8"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in [*pairs, ("Content-Length", str(len(content)))])
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + content


def make_redirect(location: str, status: str = "302 Found") -> bytes:
    return make_reply(status=status, headers=[("Location", location)])


Reply = Callable[..., bytes]


@pytest.fixture
def reply() -> Reply:
    return make_reply


@pytest.fixture
def redirect() -> Reply:
    return make_redirect


@dataclass
class Request:
    """What a site was asked, and at which of its addresses."""

    head: str
    local_address: str

    @property
    def target(self) -> str:
        return self.head.split(" ")[1]

    @property
    def headers(self) -> dict[str, str]:
        pairs = (line.partition(": ") for line in self.head.split("\r\n")[1:] if line)
        return {name.lower(): value for name, _, value in pairs}


Answer = bytes | Callable[[Request], bytes] | Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """A server that answers with whatever bytes it is told to."""

    answer: Answer
    port: int = 0
    requests: list[Request] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await self._head(reader):
                request = Request(head, writer.get_extra_info("sockname")[0])
                self.requests.append(request)
                await self._respond(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _head(self, reader: asyncio.StreamReader) -> str:
        with contextlib.suppress(asyncio.IncompleteReadError):
            return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        return ""

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> None:
        answer = self.answer
        if not isinstance(answer, bytes):
            result = answer(request, writer) if _wants_writer(answer) else answer(request)  # type: ignore[call-arg]
            if not isinstance(result, bytes):
                await result
                writer.close()
                return
            answer = result
        writer.write(answer)
        await writer.drain()


def _wants_writer(answer: Any) -> bool:
    return answer.__code__.co_argcount == 2


Serve = Callable[..., Awaitable[Site]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start sites: `await serve(reply("<p>hello</p>"))`; more addresses than one share the port."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(
            answer: Answer, addresses: Sequence[str] = ("127.0.0.1",), tls: ssl.SSLContext | None = None, port: int = 0
        ) -> Site:
            site = Site(answer, port)
            for address in addresses:
                server = await asyncio.start_server(site.handle, address, site.port, ssl=tls)
                site.port = server.sockets[0].getsockname()[1]
                stack.push_async_callback(server.wait_closed)
                stack.callback(server.close)
            return site

        yield start


class FakeResolver:
    """Says what it is told; each lookup is recorded, and a list of answers is used up one by one."""

    def __init__(self, names: Mapping[str, Sequence[Any]]) -> None:
        self.names = {name: list(addresses) for name, addresses in names.items()}
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        if host not in self.names:
            raise OSError(-2, "Name or service not known")
        addresses = self.names[host]
        if addresses and isinstance(addresses[0], list):
            return addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return addresses


class Fetcher:
    """A real client with rules of its own; everything that it reaches is on loopback."""

    def __init__(
        self,
        names: Mapping[str, Sequence[Any]],
        *,
        rules: Iterable[str] = RULES,
        forbidden: Sequence[ForbiddenAddress] = (),
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
        **settings: Any,
    ) -> None:
        self.settings = WebFetchSettings.model_validate({"allowed_addresses": ["127.0.0.1/32"], **settings})
        self.rules = frozenset(rules)
        self.resolver = FakeResolver(names)
        self.guard = AddressGuard(self.settings.allowed_ports, self.settings.allowed_addresses, lambda: forbidden)
        self.client = HttpClient(self.settings, self.guard, self.resolver, tls, network)

    async def admit(self, url: Url, redirected_by: Url | None) -> None:
        self.guard.check_url(url)
        if self.rules.isdisjoint(rules_covering(url.host)):
            raise DomainNotAllowed(url.host.name, None if redirected_by is None else redirected_by.host.name)

    async def get(self, url: str) -> Response:
        async with asyncio.timeout(self.settings.timeout):
            return await self.client.get(parse_url(url), self.admit)


@pytest.fixture
def fetcher() -> type[Fetcher]:
    return Fetcher


@pytest.fixture
def resolver() -> FakeResolver:
    """good.test and other.test are on loopback."""
    return FakeResolver({"good.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})


@pytest.fixture
async def database(anyio_backend: Any, database_url: str) -> AsyncIterator[DatabaseService]:
    async with open_database(database_url, WebFetchPlugin) as database:
        yield database


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


MakeService = Callable[..., WebFetchService]


@pytest.fixture
async def service(anyio_backend: Any, clock: Clock) -> AsyncIterator[MakeService]:
    """Make services that may fetch from loopback; they are closed when the test ends."""
    made: list[WebFetchService] = []

    def make(database: DatabaseService, resolver: FakeResolver | None = None, **settings: Any) -> WebFetchService:
        values = WebFetchSettings.model_validate({"allowed_addresses": ["127.0.0.1/32"], **settings})
        made.append(WebFetchService(database, values, resolver, clock=clock))
        return made[-1]

    yield make
    for service in made:
        await service.close()


@pytest.fixture
async def fetches(database: DatabaseService, service: MakeService, resolver: FakeResolver) -> WebFetchService:
    """A service that may fetch from good.test."""
    fetches = service(database, resolver)
    await fetches.add_domain("good.test")
    return fetches


@pytest.fixture
def tls_server() -> ssl.SSLContext:
    """What a site needs to be good.test or one of *.sub.test."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(HERE / "good.test.pem")
    return context


@pytest.fixture
def tls_client() -> ssl.SSLContext:
    """A client that trusts the sites of these tests and nobody else."""
    return ssl.create_default_context(cafile=HERE / "good.test.pem")
