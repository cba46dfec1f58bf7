"""The converter: a few worker processes with limits, each killed and replaced when it meets one."""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Any, Self

from glados.web_fetch.conversion_process import ConversionProcess, ProcessEnded
from glados.web_fetch.errors import TooComplex, UnsupportedType
from glados.web_fetch.pages import Content, Page, Source
from glados.web_fetch.places import Places
from glados.web_fetch.settings import Mode, WebFetchSettings

log = logging.getLogger(__name__)


class Converter:
    """Converts pages without ever holding up the event loop; what a page costs is bounded by the settings."""

    def __init__(self, settings: WebFetchSettings) -> None:
        self._settings = settings
        self._slots = Places(settings.workers)
        self._idle: dict[ConversionProcess, asyncio.TimerHandle] = {}
        self._busy: set[ConversionProcess] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def convert(self, source: Source, mode: Mode, content: Content) -> Page:
        """The page in the mode that was asked for; waits while every worker is busy."""
        async with self._slots:
            process = self._waiting_process()
            try:
                if process is not None:
                    try:
                        return await self._convert_in(process, source, mode, content)
                    except ProcessEnded as error:
                        # Somebody else may have ended it while it waited: that is not the page's fault.
                        if error.met_limit:
                            raise
                return await self._convert_in(await self._new_process(), source, mode, content)
            except ProcessEnded as error:
                raise TooComplex(source.url) from error

    async def close(self) -> None:
        """End every worker, and wait until it is gone."""
        self._is_closed = True
        for process in [*self._idle, *self._busy]:
            self._end(process)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _convert_in(self, process: ConversionProcess, source: Source, mode: Mode, content: Content) -> Page:
        """One conversion; a process that has not answered, for whatever reason, is never used again."""
        self._busy.add(process)
        is_reusable = False
        try:
            if self._is_closed:
                raise RuntimeError("The converter is closed.")
            async with asyncio.timeout(self._settings.convert_timeout):
                header, text = await process.ask(
                    {
                        "url": source.url,
                        "type": source.media.name,
                        "charset": source.media.charset,
                        "mode": mode,
                        "content": content,
                    },
                    source.data,
                )
            is_reusable = not header.pop("last")
        except TimeoutError as error:
            raise TooComplex(source.url) from error
        finally:
            self._busy.discard(process)
            if is_reusable and not self._is_closed:
                self._idle[process] = asyncio.get_running_loop().call_later(
                    self._settings.worker_idle, self._end, process
                )
            else:
                self._end(process)
        return _page(source, header, text)

    def _waiting_process(self) -> ConversionProcess | None:
        """The process that was used last, so that those which are not needed grow old and end."""
        while self._idle:
            process, timer = self._idle.popitem()
            timer.cancel()
            if process.is_alive:
                return process
            self._end(process)
        return None

    async def _new_process(self) -> ConversionProcess:
        return await ConversionProcess.start(self._settings.convert_seconds, self._settings.convert_memory)

    def _end(self, process: ConversionProcess) -> None:
        timer = self._idle.pop(process, None)
        if timer is not None:
            timer.cancel()
        process.kill()
        task = asyncio.get_running_loop().create_task(process.wait())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _page(source: Source, header: dict[str, Any], text: str) -> Page:
    match header.pop("error", None):
        case None:
            return Page(text, **header)
        case UnsupportedType.code:
            raise UnsupportedType(source.url, source.media.name)
        case error:
            if error == "failure":
                log.error("%s could not be converted:\n%s", source.url, text)
            raise TooComplex(source.url)
