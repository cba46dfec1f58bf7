"""What a fetch costs beside plain httpx with the same conversion, and how long hostile pages hold up the event loop.

`python benchmarks/fetch.py [--count N]` prints two tables; exit code 1 when the loop was held up for longer than 50 ms.
Pages come from a server process on loopback; its CPU is not counted. CPU is that of this process and of the workers
that it started. The heartbeat measures CPU of the loop's thread between two beats: a busy neighbour does not count.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for when this file is started as a script
sys.path.remove(str(Path(__file__).resolve().parent))  # html.py in it would be taken for the standard library's

import httpx

from glados.core import ToolError
from glados.database.testing import open_database
from glados.web_fetch import WebFetchService, WebFetchSettings
from glados.web_fetch.convert import convert
from glados.web_fetch.media import parse_media
from glados.web_fetch.pages import Source
from glados.web_fetch.plugin import WebFetchPlugin
from tests.hostile_pages import HOSTILE_PAGES

CONCURRENCY = 50
PAGE_BYTES = 100_000
BLOCKED_TARGET = 0.050  # seconds
BEAT = 0.001

Fetch = Callable[[str], Awaitable[int]]
Contender = Callable[[], AbstractAsyncContextManager[Fetch]]


def page() -> bytes:
    """A page of about 100 kB as a site might have it: an article between navigation, links, a list and a table."""
    words = random.Random(7)
    vowels, consonants = "aeiou", "bcdfghjklmnprstvw"

    def sentence() -> str:
        made = [
            "".join(words.choice(consonants) + words.choice(vowels) for _ in range(words.randint(1, 4)))
            for _ in range(words.randint(6, 18))
        ]
        return " ".join(made).capitalize() + "."

    def paragraph() -> str:
        text = " ".join(sentence() for _ in range(5))
        return f'<p class="text">{text} <a href="/{words.randint(1, 999)}">{sentence()}</a> <em>{sentence()}</em></p>'

    links = "".join(f'<li class="item"><a href="/section/{n}">{sentence()}</a></li>' for n in range(100))
    rows = "".join(f"<tr><td>{n}</td><td>{sentence()}</td></tr>" for n in range(50))
    article = ""
    while len(article) + len(links) + len(rows) < PAGE_BYTES:
        article += f"<h2>{sentence()}</h2>{paragraph()}{paragraph()}"
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{sentence()}</title><style>p {{ margin: 1em }}</style>"
        f"</head><body><nav><ul>{links}</ul></nav><main><h1>{sentence()}</h1><article>{article}</article>"
        f"<table>{rows}</table></main><footer>{sentence()}</footer></body></html>"
    ).encode()


async def serve() -> None:
    """Answer every request: `/hostile/N` with that page, everything else with the page; prints the port."""
    plain = answer(page(), "text/html; charset=utf-8")
    hostile = [answer(one.body, one.type) for one in HOSTILE_PAGES.values()]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
                writer.write(hostile[int(target.rpartition("/")[2])] if target.startswith("/hostile/") else plain)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def answer(body: bytes, type: str) -> bytes:
    """A whole response."""
    return f"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def site() -> Generator[tuple[str, int], None, None]:
    """The address of a server in a process of its own, and the number of that process."""
    process = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}", process.pid
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def with_glados() -> AsyncGenerator[Fetch, None]:
    """WebFetchService as the tools use it: allowlist, vetted addresses, worker processes."""
    settings = {
        "allowed_addresses": ["127.0.0.1/32"],
        "cache_ttl": 0,
        "concurrency": CONCURRENCY,
        "concurrency_per_host": CONCURRENCY,
        "max_characters": 1_000_000,
    }
    with tempfile.TemporaryDirectory() as folder:
        async with open_database(f"sqlite:///{folder}/fetch.db", WebFetchPlugin) as database:
            service = WebFetchService(database, WebFetchSettings.model_validate(settings))
            await service.add_domain("127.0.0.1")

            async def fetch(url: str) -> int:
                return (await service.fetch(url)).content_length

            try:
                yield fetch
            finally:
                await service.close()


@asynccontextmanager
async def with_httpx() -> AsyncGenerator[Fetch, None]:
    """One client with its pool, and the same conversion on the event loop: no checks, no limits."""
    limits = httpx.Limits(max_connections=CONCURRENCY)
    async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=None) as client:

        async def fetch(url: str) -> int:
            response = await client.get(url)
            media = parse_media(response.headers["content-type"])
            return len(convert(Source(url, media, response.content), "markdown", "main").text)

        yield fetch


@dataclass
class Heartbeat:
    """How long the loop's thread works, at most, before it comes back to other tasks."""

    cpu: float = 0.0

    async def beat(self) -> None:
        """Look at the clock of the thread as often as the loop lets us."""
        while True:
            cpu = time.thread_time()
            await asyncio.sleep(BEAT)
            self.cpu = max(self.cpu, time.thread_time() - cpu)


@asynccontextmanager
async def heartbeat() -> AsyncGenerator[Heartbeat, None]:
    """A heartbeat while the block runs."""
    found = Heartbeat()
    task = asyncio.create_task(found.beat())
    try:
        yield found
    finally:
        task.cancel()


@dataclass(frozen=True)
class Figures:
    """What a contender did."""

    name: str
    pages_per_second: float
    p50: float
    p99: float
    cpu: float
    workers_cpu: float
    blocked: float
    length: int


def cpu(who: int) -> float:
    """User and system seconds so far."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


async def measure(name: str, contender: Contender, address: str, count: int) -> Figures:
    """So many fetches of distinct URLs, 50 at a time; a few before them warm everything up."""
    urls = iter([f"{address}/{n}" for n in range(count)])
    times: list[float] = []
    children = cpu(resource.RUSAGE_CHILDREN)
    async with contender() as fetch:
        gc.collect()
        gc.freeze()  # as the daemon does when it is ready
        length = await fetch(f"{address}/warm")
        await asyncio.gather(*(fetch(f"{address}/warm/{n}") for n in range(4)))

        async def work() -> None:
            for url in urls:
                started = time.perf_counter()
                assert await fetch(url) == length
                times.append(time.perf_counter() - started)

        used, started = cpu(resource.RUSAGE_SELF), time.perf_counter()
        async with heartbeat() as beats:
            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
        elapsed, used = time.perf_counter() - started, cpu(resource.RUSAGE_SELF) - used
    # The workers are gone now, and counted; starting them is part of it.
    workers = cpu(resource.RUSAGE_CHILDREN) - children
    p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
    return Figures(name, count / elapsed, p50, p99, used, workers, beats.cpu, length)


@dataclass
class Workers:
    """The most that the workers of this process have used: CPU seconds and megabytes, looked up while they live."""

    but: int
    cpu: float = 0.0
    memory: int = 0

    async def watch(self) -> None:
        """Look again and again; what a worker uses after the last look is missed, a hundredth of a second at most."""
        while True:
            self.look()
            await asyncio.sleep(0.01)

    def look(self) -> None:
        """Read what the kernel says of every child."""
        for pid in Path("/proc/thread-self/children").read_text().split():
            try:
                status, stat = Path(f"/proc/{pid}/status").read_text(), Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                continue
            if int(pid) == self.but or "VmHWM:" not in status:
                continue
            ticks = stat.rpartition(")")[2].split()[11:13]
            self.cpu = max(self.cpu, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
            self.memory = max(self.memory, int(status.partition("VmHWM:")[2].split()[0]) // 1024)


async def measure_hostile(address: str, server: int) -> list[Hostile]:
    """Each hostile page through a service and a worker of its own."""
    rows: list[Hostile] = []
    for number, name in enumerate(HOSTILE_PAGES):
        async with with_glados() as fetch:
            await fetch(f"{address}/warm")
            workers = Workers(server)
            workers.look()
            begun = workers.cpu
            watch = asyncio.create_task(workers.watch())
            async with heartbeat() as beats:
                try:
                    outcome = f"{await fetch(f'{address}/hostile/{number}'):,} characters"
                except ToolError as error:
                    outcome = error.code
            watch.cancel()
            workers.look()
            rows.append(Hostile(name, outcome, workers.cpu - begun, workers.memory, beats.cpu))
    return rows


@dataclass(frozen=True)
class Hostile:
    """What became of a hostile page: CPU seconds and megabytes of its worker, and how long it held up the loop."""

    name: str
    outcome: str
    cpu: float
    memory: int
    blocked: float


def print_table(head: list[str], rows: list[list[str]]) -> None:
    """A table as Markdown."""
    print(f"| {' | '.join(head)} |")
    print(f"|---|{'---:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print()


def print_figures(found: list[Figures], count: int) -> None:
    """The first table, and the ratio of the two."""
    print(f"{count} fetches of {len(page())} bytes, {CONCURRENCY} at a time\n")
    head = ["", "pages a second", "p50 ms", "p99 ms", "CPU s here", "CPU s in workers", "longest stretch ms"]
    rows = [
        [
            one.name,
            f"{one.pages_per_second:.0f}",
            f"{1000 * one.p50:.0f}",
            f"{1000 * one.p99:.0f}",
            f"{one.cpu:.2f}",
            f"{one.workers_cpu:.2f}",
            f"{1000 * one.blocked:.0f}",
        ]
        for one in found
    ]
    print_table(head, rows)


async def run(count: int) -> bool:
    """Both tables; whether the target is met."""
    with site() as (address, server):
        found = [
            await measure("httpx + conversion on the loop", with_httpx, address, count),
            await measure("glados", with_glados, address, count),
        ]
        assert found[0].length == found[1].length, "both convert the same page"
        print_figures(found, count)
        hostile = await measure_hostile(address, server)
    print_table(
        ["hostile page", "outcome", "CPU s of its worker", "MB of its worker", "loop held up, ms"],
        [[one.name, one.outcome, f"{one.cpu:.2f}", f"{one.memory}", f"{1000 * one.blocked:.1f}"] for one in hostile],
    )
    worst = max(one.blocked for one in hostile)
    is_met = worst <= BLOCKED_TARGET
    print(f"The loop was held up for {1000 * worst:.1f} ms at most (target: 50 ms, {'met' if is_met else 'MISSED'}).")
    return is_met


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many fetches")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    else:
        sys.exit(0 if asyncio.run(run(options.count)) else 1)
