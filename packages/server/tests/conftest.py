"""A daemon on a free port with a few plain tools, and ways to talk to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest

from glados.core import App, Plugin, Prepare, Services, ToolContext, ToolError, hookimpl, tool
from glados.server.daemon import serve
from glados.server.settings import ServerSettings

TOKEN = "a-token-for-tests"


@dataclass
class Gate:
    """Lets a test hold a tool in the middle of its call."""

    entered: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


@tool("demo.echo", read_only=True, open_world=False)
async def echo(text: str) -> str:
    """Say the text again."""
    return text


@tool("demo.change", open_world=False)
async def change(text: str) -> str:
    """Change something, which needs permission."""
    return f"changed {text}"


@tool("demo.wait", read_only=True, open_world=False)
async def wait(ctx: ToolContext) -> str:
    """Wait until the gate is opened."""
    gate = ctx.services.get(Gate)
    gate.entered.set()
    await gate.opened.wait()
    return "waited"


@tool("demo.fail", read_only=True, open_world=False)
async def fail() -> str:
    """Fail on purpose."""
    raise ToolError("It failed on purpose: try demo.echo.", hint="demo.echo")


class DemoPlugin(Plugin):
    id = "demo"
    closed = False

    @hookimpl
    async def setup(self, services: Services) -> None:
        services.provide(Gate, Gate)

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        prepare.tools.extend((echo, change, wait, fail))

    @hookimpl
    async def teardown(self, services: Services) -> None:
        type(self).closed = True


@dataclass
class Daemon:
    """A running daemon as a test sees it."""

    app: App
    url: str
    client: httpx.AsyncClient
    task: asyncio.Task[None]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    async def raw(self, request: str | bytes) -> tuple[int, dict[str, str], bytes]:
        """Send exactly these bytes (PORT stands for the port) and read the answer to its end."""
        data = request.encode("latin-1") if isinstance(request, str) else request
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data.replace(b"PORT", str(self.port).encode()))
            return parse(await reader.read())
        finally:
            writer.close()

    @asynccontextmanager
    async def events(self, body: dict[str, Any]) -> AsyncGenerator[AsyncIterator[dict[str, Any]]]:
        """The events of a chat, each with `event`, `id` and `data`, as they arrive."""
        headers = {"accept": "text/event-stream"}
        async with self.client.stream("POST", "/api/chat", json=body, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield _events(response)


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if not line and event:
            yield event
            event = {}
        elif name:
            event[name] = json.loads(value) if name == "data" else value


def parse(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a raw answer; status 0 when the connection was closed without one."""
    if not answer:
        return 0, {}, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


class Start(Protocol):
    """Starts a daemon with these settings of the server, and the `model`, if one is given."""

    async def __call__(self, **settings: Any) -> Daemon: ...


def opener(data_dir: Path, **options: Any) -> Callable[..., Any]:
    """What `serve` opens the app with: the demo plugin, no environment, data in a folder of the test."""
    settings = {"glados": {"data_dir": str(data_dir)}}
    return lambda extra: App.open(plugins=[DemoPlugin], settings=settings, environ={}, services=extra, **options)


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def start(**settings: Any) -> Daemon:
            options = {"model": settings.pop("model")} if "model" in settings else {}
            settings = {"port": 0, "token": TOKEN, **settings}
            return await stack.enter_async_context(running(settings, opener(tmp_path, **options)))

        yield start


@asynccontextmanager
async def running(settings: dict[str, Any], open_app: Callable[..., Any]) -> AsyncGenerator[Daemon]:
    ready: asyncio.Future[tuple[App, str]] = asyncio.get_running_loop().create_future()
    serving = serve(ServerSettings(**settings), open_app, lambda app, url: ready.set_result((app, url)))
    task = asyncio.create_task(serving)
    await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        await task
    app, url = ready.result()
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=20) as client:
            yield Daemon(app, url, client, task)
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.fixture
async def daemon(start: Start) -> Daemon:
    return await start()


@pytest.fixture
def gate(daemon: Daemon) -> Gate:
    return daemon.app.services.get(Gate)
