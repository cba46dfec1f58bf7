"""How many requests are under way at a time, counted by the servers that get them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from glados.core import ToolError
from glados.database import DatabaseService
from glados.web_fetch.errors import NoFreePlace
from glados.web_fetch.lanes import Lanes

if TYPE_CHECKING:
    from conftest import FakeResolver, Fetcher, MakeService, Reply, Request, Serve

HOSTS = [f"{letter}.sub.test" for letter in "abcdefgh"]
NAMES = {host: ["127.0.0.1"] for host in [*HOSTS, "good.test"]}


class Gate:
    """A site's answer that waits until it is opened, and knows who waits."""

    def __init__(self, page: bytes) -> None:
        self.page = page
        self.opened = asyncio.Event()
        self.waiting: list[str] = []
        self.most = 0
        self.came = asyncio.Condition()

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        async with self.came:
            self.waiting.append(request.headers["host"].partition(":")[0])
            self.most = max(self.most, len(self.waiting))
            self.came.notify_all()
        await self.opened.wait()
        self.waiting.remove(request.headers["host"].partition(":")[0])
        writer.write(self.page)
        await writer.drain()

    async def until(self, count: int) -> None:
        async with self.came:
            await self.came.wait_for(lambda: len(self.waiting) >= count)


@pytest.fixture
def gate(reply: Reply) -> Gate:
    return Gate(reply("x"))


async def settled() -> None:
    """Let everything run that can, so that one request too many would have been sent."""
    for _ in range(200):
        await asyncio.sleep(0)


async def test_one_host_gets_so_many_requests_at_a_time(serve: Serve, fetcher: type[Fetcher], gate: Gate) -> None:
    site = await serve(lambda request, writer: gate(request, writer))
    client = fetcher(NAMES, concurrency=5, concurrency_per_host=2)
    tasks = [asyncio.create_task(client.get(f"http://good.test:{site.port}/{n}")) for n in range(6)]
    await gate.until(2)
    await settled()
    assert len(site.requests) == 2
    gate.opened.set()
    await asyncio.gather(*tasks)
    assert gate.most == 2
    assert [request.target for request in site.requests] == [f"/{n}" for n in range(6)]


async def test_all_hosts_together_get_so_many_requests_at_a_time(
    serve: Serve, fetcher: type[Fetcher], gate: Gate
) -> None:
    site = await serve(lambda request, writer: gate(request, writer))
    client = fetcher(NAMES, concurrency=3, concurrency_per_host=2)
    tasks = [asyncio.create_task(client.get(f"http://{host}:{site.port}/")) for host in HOSTS]
    await gate.until(3)
    await settled()
    assert len(site.requests) == 3
    gate.opened.set()
    await asyncio.gather(*tasks)
    assert gate.most == 3


async def test_who_waits_for_a_slow_host_takes_no_place_from_another(
    serve: Serve, fetcher: type[Fetcher], gate: Gate, reply: Reply
) -> None:
    slow, quick = await serve(lambda request, writer: gate(request, writer)), await serve(reply("quick"))
    client = fetcher(NAMES, concurrency=3, concurrency_per_host=2)
    tasks = [asyncio.create_task(client.get(f"http://good.test:{slow.port}/{n}")) for n in range(10)]
    await gate.until(2)
    assert (await client.get(f"http://a.sub.test:{quick.port}/")).body.data == b"quick"
    assert len(slow.requests) == 2
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_place_is_given_back_however_the_request_ends(
    serve: Serve, fetcher: type[Fetcher], gate: Gate, reply: Reply, redirect: Reply
) -> None:
    replies = {
        "/status": reply("x", status="500 Oops"),
        "/type": reply(b"", headers=[("Content-Type", "image/png")]),
        "/moved": redirect("/page"),
        "/away": redirect("http://evil.test/"),
        "/broken": b"no http at all\r\n\r\n",
        "/page": reply("x"),
    }
    site = await serve(lambda request: replies[request.target])
    stuck = await serve(lambda request, writer: gate(request, writer))
    client = fetcher(NAMES, concurrency=1, concurrency_per_host=1)
    for path in [*replies, *replies]:
        await asyncio.gather(client.get(f"http://good.test:{site.port}{path}"), return_exceptions=True)
    with pytest.raises(ToolError):
        await client.get("http://good.test:1/")
    task = asyncio.create_task(client.get(f"http://good.test:{stuck.port}/"))
    await gate.until(1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    gate.opened.set()
    assert (await client.get(f"http://good.test:{site.port}/page")).status == 200


async def test_places_are_given_in_the_order_of_asking_and_nothing_is_kept_of_a_host() -> None:
    lanes, order = Lanes(1, 1), list[int]()

    async def work(number: int) -> None:
        async with lanes.enter("good.test"):
            order.append(number)
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(work(number)) for number in range(5)]
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 3, 4]
    assert lanes._lanes == {}


@pytest.mark.parametrize(
    ("taken", "robots"),
    [
        ("the host", "off"),
        ("the host", "obey"),
        ("every request", "off"),
        ("every request", "obey"),
        ("workers", "off"),
    ],
)
async def test_who_gets_no_place_in_time_is_told_so_and_not_that_the_host_is_slow(
    database: DatabaseService,
    service: MakeService,
    resolver: FakeResolver,
    serve: Serve,
    reply: Reply,
    taken: str,
    robots: str,
) -> None:
    site = await serve(reply("x"))
    timeout = 5 if taken == "workers" else 0.3
    fetches = service(
        database, resolver, timeout=timeout, concurrency=1, concurrency_per_host=1, workers=1, robots=robots
    )
    await fetches.add_domain("good.test")
    loader = await fetches._loader()
    lanes, workers = loader._http._lanes, loader._converter._slots
    places = {"the host": lanes.enter("good.test"), "every request": lanes.enter("other.test"), "workers": workers}
    async with places[taken]:
        with pytest.raises(NoFreePlace, match=r"good\.test were over while other fetches took all places"):
            await fetches.fetch(f"http://good.test:{site.port}/")
    assert len(site.requests) == (taken == "workers")
