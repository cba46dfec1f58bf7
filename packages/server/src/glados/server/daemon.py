"""The daemon: binds its address, answers /healthz at once, opens the app, serves, and stops cleanly."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from glados.core import App, GladosSettings, Services
from glados.core.network import ForbiddenAddress
from glados.server.app import create_app, protect
from glados.server.auth import Doors, given_token, load_token
from glados.server.connections import DeadlineProtocol
from glados.server.listener import bind, url_of
from glados.server.settings import ServerSettings
from glados.server.slot import AppSlot

OpenApp = Callable[[Callable[[Services], None]], AbstractAsyncContextManager[App]]
MAX_HEADER_BYTES = 32_768
KEEP_ALIVE_SECONDS = 5
GRACE_SECONDS = 3


async def serve(settings: ServerSettings, open_app: OpenApp, announce: Callable[[App, str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; the app that `open_app` opens is closed before this returns."""
    token = given_token(settings.token)
    slot = AppSlot()
    with bind(settings.host, settings.port, has_token=token is not None) as listener, _until_signal(slot) as stop:
        host, port = listener.getsockname()[:2]
        doors = Doors.of(settings.host, port, settings.allowed_hosts, settings.allowed_origins)
        web = protect(create_app(slot), slot, doors, settings.max_body_bytes)

        def forbid_own_address(services: Services) -> None:
            services.add(ForbiddenAddress, ForbiddenAddress(host, port))

        async with _listening(web, listener), open_app(forbid_own_address) as app:
            slot.token = token or load_token(app.services.get(GladosSettings).data_dir)
            slot.app = app
            try:
                announce(app, url_of(host, port))
                await stop.wait()
            finally:
                slot.app = None  # from here on requests are told to try again; closing the app aborts its runs


@contextmanager
def _until_signal(slot: AppSlot) -> Generator[asyncio.Event]:
    """An event for SIGTERM and Ctrl-C; while the app is still opening, the opening is cancelled."""
    stop, loop, task = asyncio.Event(), asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop_now() -> None:
        if not stop.is_set() and slot.app is None:
            task.cancel()
        stop.set()

    def on_signal(number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)  # a second Ctrl-C ends the process whatever hangs
        loop.call_soon_threadsafe(stop_now)

    in_main_thread = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if in_main_thread else ()
    previous = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield stop
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        task.uncancel()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@asynccontextmanager
async def _listening(web: ASGIApp, listener: socket.socket) -> AsyncGenerator[None]:
    """Answer requests while the block runs; what is still open afterwards has a few seconds to end."""
    server = _Server(
        uvicorn.Config(
            web,
            http=DeadlineProtocol,
            ws="none",
            loop="none",
            lifespan="off",
            interface="asgi3",
            workers=1,
            log_config=None,
            log_level="critical",  # what happens in a request is logged by the application itself
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.listening.wait()
        yield
    finally:
        server.should_exit = True
        await serving
        await server.drop_connections()


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise the signal again after a clean stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals belong to the daemon."""
        yield

    async def drop_connections(self) -> None:
        """Close what did not end in time, once the cancelled requests have said so."""
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
