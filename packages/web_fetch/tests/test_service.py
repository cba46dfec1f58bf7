"""The service from Python, on both databases."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlmodel import select

from glados.database import DatabaseService
from glados.web_fetch.errors import DomainNotAllowed, FetchTimeout, InvalidDomain
from glados.web_fetch.tables import AllowedDomain

if TYPE_CHECKING:
    from conftest import FakeResolver, MakeService, Reply, Request, Serve


async def test_a_host_is_allowed_by_its_name_or_by_a_wildcard(database: DatabaseService, service: MakeService) -> None:
    fetches = service(database)
    await fetches.add_domain("example.com")
    await fetches.add_domain("*.Python.org")
    for host in ("example.com", "EXAMPLE.com.", "docs.python.org"):
        assert await fetches.is_allowed(host)
    for host in ("www.example.com", "python.org", "a.docs.python.org", "examplexcom", "*.python.org", "not a host", ""):
        assert not await fetches.is_allowed(host)
    assert await fetches.list_domains() == ["*.python.org", "example.com"]


async def test_a_rule_is_stored_with_the_time_it_was_added(database: DatabaseService, service: MakeService) -> None:
    await service(database).add_domain("example.com")
    async with database.read() as session:
        row = (await session.exec(select(AllowedDomain))).one()
    assert row.domain == "example.com"
    assert datetime.fromisoformat(row.created_at).utcoffset() is not None


async def test_of_many_who_add_the_same_rule_at_once_one_adds_it(
    database: DatabaseService, service: MakeService
) -> None:
    fetches = service(database)
    added = await asyncio.gather(*(fetches.add_domain("example.com") for _ in range(20)))
    assert sorted(added) == [False] * 19 + [True]
    removed = await asyncio.gather(*(fetches.remove_domain("example.com") for _ in range(20)))
    assert sorted(removed) == [False] * 19 + [True]


async def test_an_address_can_be_allowed_while_the_operator_lists_it_and_removed_afterwards(
    database: DatabaseService, service: MakeService, serve: Serve, reply: Reply
) -> None:
    site = await serve(reply("<p>hi</p>"))
    assert await service(database).add_domain("127.0.0.1")
    assert (await service(database).fetch(f"http://127.0.0.1:{site.port}/")).content == "hi"
    later = service(database, allowed_addresses=[])
    with pytest.raises(InvalidDomain, match="allowed_addresses"):
        await later.add_domain("127.0.0.1")
    assert await later.remove_domain("127.0.0.1")


async def test_every_hop_is_looked_up_on_the_allowlist(
    database: DatabaseService, service: MakeService, serve: Serve, resolver: FakeResolver, redirect: Reply
) -> None:
    site = await serve(redirect("http://other.test/"))
    fetches = service(database, resolver)
    await fetches.add_domain("good.test")
    with pytest.raises(DomainNotAllowed, match=r"good\.test redirects to other\.test"):
        await fetches.fetch(f"http://good.test:{site.port}/")


async def test_a_page_that_never_ends_is_told_as_a_timeout(
    database: DatabaseService, service: MakeService, serve: Serve, resolver: FakeResolver
) -> None:
    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n")
        await asyncio.sleep(30)

    site = await serve(answer)
    fetches = service(database, resolver, timeout=0.3)
    await fetches.add_domain("good.test")
    with pytest.raises(FetchTimeout, match=r"within 0\.3 s"):
        await fetches.fetch(f"http://good.test:{site.port}/")


async def test_a_cut_body_is_told(
    database: DatabaseService, service: MakeService, serve: Serve, resolver: FakeResolver, reply: Reply
) -> None:
    site = await serve(reply("word " * 1000, headers=[("Content-Type", "text/plain")]))
    fetches = service(database, resolver, max_bytes=1000)
    await fetches.add_domain("good.test")
    result = await fetches.fetch(f"http://good.test:{site.port}/")
    assert result.body_truncated
    assert not result.truncated
    assert result.content_length == 1000


WATCHING = """
import asyncio, sys, threading
from importlib.abc import MetaPathFinder

from glados.database.testing import open_database
from glados.web_fetch import WebFetchService, WebFetchSettings
from glados.web_fetch.plugin import WebFetchPlugin

PAGE = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: 9\\r\\n\\r\\n<p>hi</p>"
ALLOW = "INSERT INTO web_fetch_allowed_domains VALUES ('127.0.0.1', '')"
on_the_loop = set()

class Watch(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if threading.current_thread() is threading.main_thread() and package not in sys.stdlib_module_names:
            on_the_loop.add(package)

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(PAGE)
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with open_database(f"sqlite:///{sys.argv[1]}/test.sqlite3", WebFetchPlugin) as database:
        service = WebFetchService(database, WebFetchSettings(allowed_addresses=["127.0.0.1/32"]))
        await database.commit(lambda connection: connection.execute(ALLOW))
        sys.meta_path.insert(0, Watch())
        print((await service.fetch(f"http://127.0.0.1:{port}/")).content, sorted(on_the_loop))
        await service.close()

asyncio.run(main())
"""


def test_what_the_first_fetch_loads_is_loaded_off_the_loop(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHING, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "hi []\n", done.stderr
