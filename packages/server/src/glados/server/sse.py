"""A run as server-sent events, told as they happen; the run itself goes on when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from glados.core import Event, GladosError
from glados.server.problems import internal_error, log_unexpected, problem_of
from glados.server.wire import to_json

KEEP_ALIVE_SECONDS = 15.0
MAX_PENDING = 100  # further events wait in the subscription, which cuts off a client that is much too slow
MEDIA_TYPE = "text/event-stream"


def wants_events(accept: str) -> bool:
    """Whether an Accept header asks for server-sent events."""
    return any(item.partition(";")[0].strip().lower() == MEDIA_TYPE for item in accept.split(","))


class EventResponse(StreamingResponse):
    """The events of one run as an answer.

    A task of its own reads them, because waiting for one with a time limit would end the iterator.
    """

    def __init__(self, events: AsyncIterator[Event]) -> None:
        super().__init__(self._frames(), media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})
        self._queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue(MAX_PENDING)
        self._begun = asyncio.Event()
        self._failed: Exception | None = None
        self._reading = asyncio.create_task(self._read(events))

    @classmethod
    async def of(cls, events: AsyncIterator[Event]) -> EventResponse:
        """The answer, once there is a first event; an error before it is raised and has a status of its own."""
        response = cls(events)
        try:
            async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                await response._begun.wait()
        except TimeoutError:
            pass  # the prompt waits for its turn, and the client should hear something meanwhile
        if response._failed is not None:
            raise response._failed
        return response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the run ends or the client leaves."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._reading.cancel()

    async def _read(self, events: AsyncIterator[Event]) -> None:
        try:
            async for event in events:
                self._begun.set()
                await self._queue.put(event)
        except Exception as error:
            if not self._begun.is_set():
                self._failed = error
            elif not isinstance(error, GladosError):
                log_unexpected("A stream of events", error)
            self._begun.set()
            await self._queue.put(error)
        await self._queue.put(None)

    async def _frames(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    item = await self._queue.get()
            except TimeoutError:
                yield b": keep-alive\n\n"
                continue
            if item is None:
                return
            yield event_frame(item) if isinstance(item, Event) else error_frame(item)


def event_frame(event: Event) -> bytes:
    """One event; JSON has no raw line breaks, so the data is one line."""
    number = f"id: {event.seq}\n" if event.seq is not None else ""
    return f"event: {event.type}\n{number}data: ".encode() + to_json(event.to_dict()) + b"\n\n"


def error_frame(error: Exception) -> bytes:
    """What went wrong after the answer had begun, as the problem that it would have been."""
    problem = problem_of(error) if isinstance(error, GladosError) else internal_error()
    return b"event: error\ndata: " + bytes(problem.body) + b"\n\n"
