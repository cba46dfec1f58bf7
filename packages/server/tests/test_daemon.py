"""The daemon from its start to its end."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from glados.core import App, ConfigurationError, Plugin, PluginError, Services, hookimpl
from glados.core.network import ForbiddenAddress
from glados.server.daemon import serve
from glados.server.listener import bind, url_of
from glados.server.settings import ServerSettings

Announced = asyncio.Future[tuple[App, str]]


class RecordingPlugin(Plugin):
    """Remembers what happened to it."""

    id = "recording"
    told: list[str]

    @hookimpl
    async def setup(self, services: Services) -> None:
        self.told.append("setup")

    @hookimpl
    async def teardown(self, services: Services) -> None:
        self.told.append("teardown")


@pytest.fixture
def told() -> list[str]:
    RecordingPlugin.told = []
    return RecordingPlugin.told


@pytest.fixture
def open_app(tmp_path: Path) -> Callable[..., Any]:
    settings = {"glados": {"data_dir": str(tmp_path)}}
    return lambda extra: App.open(plugins=[RecordingPlugin], settings=settings, environ={}, services=extra)


def begin(open_app: Callable[..., Any], **settings: Any) -> tuple[asyncio.Task[None], Announced]:
    announced: Announced = asyncio.get_running_loop().create_future()
    options = ServerSettings.model_validate({"port": 0, **settings})
    serving = serve(options, open_app, lambda *told: announced.set_result(told))
    return asyncio.create_task(serving), announced


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_and_closes_the_app(open_app: Any, told: list[str], number: signal.Signals) -> None:
    before = signal.getsignal(number)
    task, announced = begin(open_app)
    await announced
    signal.raise_signal(number)
    await task
    assert told == ["setup", "teardown"]
    assert signal.getsignal(number) == before


async def test_a_signal_while_the_app_opens_stops_it(open_app: Any, told: list[str]) -> None:
    opening = asyncio.Event()

    @asynccontextmanager
    async def never(extra: Any) -> AsyncGenerator[App]:
        async with open_app(extra) as app:
            opening.set()
            await asyncio.Event().wait()
            yield app

    task, announced = begin(never)
    await opening.wait()
    signal.raise_signal(signal.SIGTERM)
    await task
    assert not announced.done()
    assert told == ["setup", "teardown"]


async def test_it_answers_before_it_is_ready(open_app: Any, told: list[str]) -> None:
    ports: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    go_on = asyncio.Event()

    @asynccontextmanager
    async def slowly(extra: Callable[[Services], None]) -> AsyncGenerator[App]:
        async with open_app(extra) as app:
            ports.set_result(app.services.all(ForbiddenAddress)[0].port)
            await go_on.wait()
            yield app

    task, announced = begin(slowly, token="secret")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{await ports}", trust_env=False) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        early = await client.get("/readyz")
        assert (early.status_code, early.json()) == (503, {"status": "starting"})
        asked = await client.get("/api/tools", headers={"authorization": "Bearer secret"})
        assert (asked.status_code, asked.json()["code"]) == (503, "not_ready")
        go_on.set()
        await announced
        assert (await client.get("/readyz")).json() == {"status": "ready"}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["setup", "teardown"]


async def test_no_tool_may_reach_its_own_address(daemon: Any) -> None:
    assert daemon.app.services.all(ForbiddenAddress) == [ForbiddenAddress("127.0.0.1", daemon.port)]


async def test_an_app_that_does_not_open_ends_it_with_its_error() -> None:
    @asynccontextmanager
    async def fails(extra: Any) -> AsyncGenerator[App]:
        raise PluginError("It does not open.")
        yield

    task, _ = begin(fails)
    with pytest.raises(PluginError, match="does not open"):
        await task


async def test_an_unsafe_token_file_ends_it_with_a_sentence(open_app: Any, told: list[str], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("known-to-all")
    (tmp_path / "token").chmod(0o644)
    task, _ = begin(open_app)
    with pytest.raises(ConfigurationError, match="mode 0644"):
        await task
    assert told == ["setup", "teardown"]


async def test_the_token_is_in_the_file_that_it_is_said_to_be_in(
    open_app: Any, told: list[str], tmp_path: Path
) -> None:
    task, announced = begin(open_app)
    _, url = await announced
    headers = {"authorization": f"Bearer {(tmp_path / 'token').read_text().strip()}"}
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        assert (await client.get("/api/plugins", headers=headers)).status_code == 200
    task.cancel()
    await asyncio.wait({task})


async def test_a_running_run_is_aborted_and_its_client_is_told(daemon: Any, gate: Any) -> None:
    plain = asyncio.create_task(daemon.client.post("/api/chat", json={"prompt": "/call demo.wait {}"}))
    await gate.entered.wait()
    daemon.task.cancel()
    assert (await plain).json()["stop"] == "aborted"


async def test_a_stream_of_a_running_run_ends_with_its_end(daemon: Any, gate: Any) -> None:
    async with daemon.events({"prompt": "/call demo.wait {}"}) as events:
        seen = [(await anext(events))["event"]]
        await gate.entered.wait()
        daemon.task.cancel()
        seen += [event["event"] async for event in events]
    assert seen[-1] == "agent:run_end"


async def test_a_taken_port_is_one_sentence(open_app: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        task, _ = begin(open_app, port=port)
        expected = f"Port {port} on 127.0.0.1 is taken: stop the other program or set SERVER_PORT (or --port)."
        with pytest.raises(ConfigurationError) as caught:
            await task
        assert caught.value.message == expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_public_address_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="set SERVER_TOKEN"):
        bind(host, 0, has_token=False)
    with bind(host, 0, has_token=True) as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_a_loopback_address_does_not(host: str) -> None:
    with bind(host, 0, has_token=False) as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "x" * 300])
def test_an_address_of_another_machine_is_one_sentence(host: str) -> None:
    with pytest.raises(ConfigurationError, match="no address of this machine"):
        bind(host, 0, has_token=True)


def test_the_address_that_is_told_can_be_opened() -> None:
    assert url_of("127.0.0.1", 8420) == "http://127.0.0.1:8420"
    assert url_of("0.0.0.0", 8420) == "http://127.0.0.1:8420"
    assert url_of("::", 8420) == "http://[::1]:8420"


PROGRAM = """
import asyncio, sys
from glados.core import App, Plugin, hookimpl
from glados.server.daemon import serve
from glados.server.settings import ServerSettings

class HangingPlugin(Plugin):
    id = "hanging"

    @hookimpl
    async def teardown(self, services):
        print("stopping", flush=True)
        await asyncio.Event().wait()

plugins = [HangingPlugin] if "hanging" in sys.argv else []
settings = {"glados": {"data_dir": sys.argv[1]}}
def open_app(extra):
    return App.open(plugins=plugins, settings=settings, environ={}, services=extra)
asyncio.run(serve(ServerSettings(port=0), open_app, lambda app, url: print(url, flush=True)))
"""


@contextmanager
def process(*args: str) -> Generator[subprocess.Popen[str]]:
    """A daemon of its own; its address is the first line that it prints."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def line(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_with_success_and_silence(tmp_path: Path, number: signal.Signals) -> None:
    with process(str(tmp_path)) as started, httpx.Client(base_url=line(started), trust_env=False) as client:
        assert client.get("/readyz").status_code == 200
        started.send_signal(number)
        output, errors = started.communicate(timeout=30)
    assert (started.returncode, output, errors) == (0, "", "")


def test_a_second_ctrl_c_ends_a_stop_that_hangs(tmp_path: Path) -> None:
    with process(str(tmp_path), "hanging") as started:
        assert line(started).startswith("http://")
        started.send_signal(signal.SIGINT)
        assert line(started) == "stopping"
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=5)
    assert (started.returncode, errors) == (-signal.SIGINT, "")
