"""Pages through real worker processes: what they cost is bounded, and no page harms the next one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from glados.core import PluginError
from glados.web_fetch.conversion_process import ConversionProcess
from glados.web_fetch.converter import Converter
from glados.web_fetch.errors import TooComplex, UnsupportedType
from glados.web_fetch.media import Media
from glados.web_fetch.pages import Page, Source
from glados.web_fetch.settings import WebFetchSettings

HTML = Media("text/html", "utf-8")
# Minutes of parsing, if nobody ended it.
ENDLESS = "<div>" * 300_000

Open = Callable[..., Converter]


@pytest.fixture
async def converter(anyio_backend: Any) -> AsyncIterator[Open]:
    """Opens converters with settings of the test's own; each is closed afterwards."""
    opened: list[Converter] = []

    def start(**settings: Any) -> Converter:
        opened.append(Converter(WebFetchSettings.model_validate(settings)))
        return opened[-1]

    yield start
    for one in opened:
        await one.close()


def page(html: str, media: Media = HTML) -> Source:
    return Source("https://good.test/docs/a", media, html.encode())


async def converted(converter: Converter, html: str) -> str:
    return (await converter.convert(page(html), "markdown", "page")).text


def waiting(converter: Converter) -> list[ConversionProcess]:
    return [*converter._idle]


async def test_a_page_is_converted_in_another_process(converter: Open) -> None:
    one = converter()
    assert await one.convert(page("<title>T</title><h1>Käse</h1>"), "markdown", "page") == Page("# Käse", "T")
    (process,) = waiting(one)
    assert process.pid != os.getpid()
    assert process.is_alive


async def test_a_worker_is_started_with_the_first_page_and_used_again(converter: Open) -> None:
    one = converter()
    assert waiting(one) == []
    await converted(one, "<p>a")
    (first,) = waiting(one)
    assert await converted(one, "<p>b") == "b"
    assert waiting(one) == [first]


async def test_many_pages_share_the_workers_that_there_are(converter: Open) -> None:
    one = converter(workers=2)
    assert await asyncio.gather(*(converted(one, f"<p>{n}") for n in range(20))) == [str(n) for n in range(20)]
    assert len(waiting(one)) == 2


async def test_a_page_over_the_time_limit_is_an_error_and_the_next_one_converts(converter: Open) -> None:
    one = converter(convert_seconds=0.2)
    await converted(one, "<p>a")
    (first,) = waiting(one)
    with pytest.raises(TooComplex):
        await converted(one, ENDLESS)
    assert not first.is_alive
    assert await converted(one, "<p>b") == "b"


async def test_a_cancelled_call_ends_its_worker_and_the_next_page_gets_its_own_answer(converter: Open) -> None:
    one = converter(workers=1, convert_seconds=60)
    await converted(one, "<p>a")
    (first,) = waiting(one)
    call = asyncio.create_task(converted(one, ENDLESS))
    while first in waiting(one):
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await converted(one, "<p>b") == "b"
    assert waiting(one) != [first]


async def test_a_worker_that_stands_still_is_ended(converter: Open) -> None:
    one = converter(convert_timeout=1)
    await converted(one, "<p>a")
    (first,) = waiting(one)
    os.kill(first.pid, signal.SIGSTOP)
    with pytest.raises(TooComplex):
        await converted(one, "<p>b")
    assert await converted(one, "<p>c") == "c"


async def test_a_worker_that_somebody_ended_is_replaced_and_the_page_converted(converter: Open) -> None:
    one = converter()
    await converted(one, "<p>a")
    (first,) = waiting(one)
    os.kill(first.pid, signal.SIGKILL)
    assert await converted(one, "<p>b") == "b"
    assert waiting(one) != [first]


async def test_a_worker_without_work_ends(converter: Open) -> None:
    one = converter(worker_idle=0)
    await converted(one, "<p>a")
    (first,) = waiting(one)
    await first.wait()
    assert waiting(one) == []
    assert await converted(one, "<p>b") == "b"


@pytest.mark.parametrize(
    ("program", "message"),
    [("/bin/false", "does not start: run '/bin/false -I"), ("/no/such/python", r"cannot be started \(No such file")],
)
async def test_a_worker_that_does_not_start_is_told_and_the_next_page_converts(
    converter: Open, monkeypatch: pytest.MonkeyPatch, program: str, message: str
) -> None:
    one = converter()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", program)
        with pytest.raises(PluginError, match=message):
            await converted(one, "x")
    assert waiting(one) == []
    assert await converted(one, "next") == "next"


async def test_a_type_that_cannot_be_read_is_told_by_its_name(converter: Open) -> None:
    with pytest.raises(UnsupportedType):
        await converter().convert(Source("https://good.test/", Media(), b"\x00\x01"), "markdown", "page")


async def test_a_closed_converter_has_no_workers_and_takes_no_pages(converter: Open) -> None:
    one = converter()
    await converted(one, "<p>a")
    (first,) = waiting(one)
    await one.close()
    assert not first.is_alive
    with pytest.raises(RuntimeError):
        await converted(one, "<p>b")


PARENT = """
import asyncio, os
from glados.web_fetch.converter import Converter
from glados.web_fetch.media import Media
from glados.web_fetch.pages import Source
from glados.web_fetch.settings import WebFetchSettings

async def main():
    converter = Converter(WebFetchSettings())
    await converter.convert(Source("https://good.test/", Media("text/html"), b"<p>a"), "markdown", "page")
    print(*(process.pid for process in converter._idle), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_worker_ends_with_the_process_that_started_it_however_that_ends() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    worker, ended = os.pidfd_open(int(await parent.stdout.readline())), asyncio.Event()
    asyncio.get_running_loop().add_reader(worker, ended.set)
    parent.kill()
    await parent.wait()
    await ended.wait()
    asyncio.get_running_loop().remove_reader(worker)
    os.close(worker)
