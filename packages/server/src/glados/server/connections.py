"""One connection: headers have to be complete in time, and no answer is lost because more was sent than was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from glados.server.problems import ProblemResponse

LINGER_SECONDS = 2.0


class DeadlineProtocol(H11Protocol):
    """uvicorn's protocol with a deadline for headers: one that drips them would hold its connection for ever."""

    header_seconds: ClassVar[float] = 10.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the clock for the first request."""
        lingering = LingeringTransport(transport, self._sends_a_body)
        super().connection_made(cast("asyncio.Transport", lingering))
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock once a request's headers are complete; between requests uvicorn's own timer runs."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._watch()
        else:
            self._unwatch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock with the connection."""
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP in the shape of every other error, unless an answer is already on its way."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = ProblemResponse(400, "invalid_http", msg, headers={"connection": "close"})
            for event in (
                h11.Response(status_code=400, headers=problem.raw_headers, reason=b"Bad Request"),
                h11.Data(data=bytes(problem.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _sends_a_body(self) -> bool:
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    def _watch(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class LingeringTransport:
    """A transport that, closed while the client still sends, says that it is done and reads on for a moment.

    Closed at once, the kernel would reset the connection, and the client would lose the answer that it has not read.
    """

    def __init__(self, transport: asyncio.Transport, unread: Callable[[], bool]) -> None:
        self._transport = transport
        self._unread = unread
        self._lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more will be answered."""
        return self._lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close, now or when the client has had time to read."""
        if self.is_closing() or not self._unread():
            self._transport.close()
            return
        self._lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.close)
