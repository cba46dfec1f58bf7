"""Names and addresses: one lookup a connection, and only vetted addresses are ever connected to.

127.0.0.2 is the one address that these tests allow and stands for a public one; 127.0.0.1 stands for what is inside.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from glados.core import ForbiddenAddress
from glados.web_fetch.errors import AddressNotAllowed, DnsFailed
from glados.web_fetch.resolver import SystemResolver

if TYPE_CHECKING:
    from conftest import Fetcher, Reply, Serve

INSIDE, PUBLIC, OTHER_PUBLIC = "127.0.0.1", "127.0.0.2", "127.0.0.3"
LISTED = [f"{PUBLIC}/32", f"{OTHER_PUBLIC}/32"]


async def rebinding_is_refused(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("x"), [INSIDE, PUBLIC])
    client = fetcher({"good.test": [[PUBLIC], [INSIDE]]}, allowed_addresses=LISTED)
    await client.get(f"http://good.test:{site.port}/")
    assert client.resolver.lookups == ["good.test"]
    with pytest.raises(AddressNotAllowed):
        await client.get(f"http://good.test:{site.port}/")
    assert [request.local_address for request in site.requests] == [PUBLIC]


async def a_name_that_points_inside_is_refused(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("x"))
    client = fetcher({"good.test": [INSIDE]}, allowed_addresses=LISTED)
    with pytest.raises(AddressNotAllowed) as caught:
        await client.get(f"http://good.test:{site.port}/")
    assert caught.value.data == {"domain": "good.test", "address": INSIDE}
    assert not site.requests


async def one_address_inside_refuses_all(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("x"), [PUBLIC])
    for addresses in (["::1", PUBLIC], [PUBLIC, "::1"]):
        with pytest.raises(AddressNotAllowed):
            await fetcher({"good.test": addresses}, allowed_addresses=LISTED).get(f"http://good.test:{site.port}/")
    assert not site.requests


async def a_name_without_an_address_is_told_once(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    client = fetcher({"good.test": []})
    with pytest.raises(DnsFailed, match=r"The name good\.test could not be resolved \(it has no address\)"):
        await client.get("http://good.test/")
    assert client.resolver.lookups == ["good.test"]


async def a_flood_of_addresses_is_bounded(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    flood = [f"127.1.{n // 250}.{n % 250 + 1}" for n in range(5000)]
    site = await serve(reply("x"), [flood[15], flood[16]])
    client = fetcher({"good.test": flood}, allowed_addresses=["127.1.0.0/16"])
    await client.get(f"http://good.test:{site.port}/")
    assert [request.local_address for request in site.requests] == [flood[15]]


async def our_own_port_is_refused(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("x"), [PUBLIC])
    forbidden = [ForbiddenAddress("0.0.0.0", site.port)]
    client = fetcher({"good.test": [PUBLIC]}, allowed_addresses=["0.0.0.0/0"], forbidden=forbidden)
    with pytest.raises(AddressNotAllowed, match="this program itself"):
        await client.get(f"http://good.test:{site.port}/")
    assert not site.requests


async def concurrent_fetches_connect_only_to_vetted_addresses(
    serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    site = await serve(reply("x"), [INSIDE, PUBLIC])
    client = fetcher({"good.test": [[PUBLIC], [INSIDE], [PUBLIC], [INSIDE]]}, allowed_addresses=LISTED)
    fetches = [client.get(f"http://good.test:{site.port}/{n}") for n in range(4)]
    results = await asyncio.gather(*fetches, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["AddressNotAllowed"] * 2 + ["Response"] * 2
    assert [request.local_address for request in site.requests] == [PUBLIC, PUBLIC]


async def the_next_vetted_address_is_tried_without_a_lookup(serve: Serve, fetcher: type[Fetcher], reply: Reply) -> None:
    site = await serve(reply("x"), [OTHER_PUBLIC])
    client = fetcher({"good.test": [PUBLIC, OTHER_PUBLIC]}, allowed_addresses=LISTED)
    await client.get(f"http://good.test:{site.port}/")
    assert client.resolver.lookups == ["good.test"]
    assert [request.local_address for request in site.requests] == [OTHER_PUBLIC]


DNS_CASES = {
    "DNS-001": rebinding_is_refused,
    "DNS-003": a_name_that_points_inside_is_refused,
    "DNS-004": one_address_inside_refuses_all,
    "DNS-007": a_name_without_an_address_is_told_once,
    "DNS-010": a_flood_of_addresses_is_bounded,
    "DNS-011": our_own_port_is_refused,
    "DNS-012": concurrent_fetches_connect_only_to_vetted_addresses,
    "DNS-013": the_next_vetted_address_is_tried_without_a_lookup,
}


async def test_hostile_answers_of_the_resolver_lead_nowhere_else(
    dns_case: dict[str, Any], serve: Serve, fetcher: type[Fetcher], reply: Reply
) -> None:
    await DNS_CASES[dns_case["id"]](serve, fetcher, reply)


async def test_an_unknown_name_is_told(fetcher: type[Fetcher]) -> None:
    with pytest.raises(DnsFailed, match=r"Name or service not known.*check its spelling"):
        await fetcher({}).get("http://good.test/")


async def test_an_address_on_one_link_only_is_refused(fetcher: type[Fetcher]) -> None:
    with pytest.raises(AddressNotAllowed):
        await fetcher({"good.test": ["fe80::1%eth0"]}, allowed_addresses=["fe80::/10"]).get("http://good.test/")


async def test_the_system_resolver_knows_this_machine() -> None:
    assert "127.0.0.1" in await SystemResolver().resolve("localhost", 80)
