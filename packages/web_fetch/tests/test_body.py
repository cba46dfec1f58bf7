from __future__ import annotations

import asyncio
import gzip
import os
import zlib
from collections.abc import AsyncIterator

import pytest

from glados.web_fetch.body import STEP, Body, Encoding, parse_encoding, read_body
from glados.web_fetch.errors import DecodeFailed, TooLarge

URL = "https://good.test/"
PAGE = b"<p>hello</p>" * 100


async def pieces(data: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("identity", PAGE),
        ("gzip", gzip.compress(PAGE)),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", raw_deflate(PAGE)),
        ("gzip", gzip.compress(PAGE) + b"trailing"),
        ("gzip", b""),
    ],
    ids=["plain", "gzip", "deflate", "bare deflate", "gzip with a tail", "empty"],
)
async def test_a_body_is_read_in_each_encoding(encoding: Encoding, data: bytes) -> None:
    for size in (1, 7, 10_000):
        assert await read_body(URL, pieces(data, size), encoding, 10_000) == Body(PAGE if data else b"")


@pytest.mark.parametrize("data", [gzip.compress(PAGE)[:-9], b"no gzip at all"], ids=["cut", "none"])
async def test_broken_compression_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeFailed):
        await read_body(URL, pieces(data), "gzip", 10_000)


async def test_a_large_page_is_cut_however_it_is_packed() -> None:
    words = os.urandom(5_000).hex().encode()
    packed: dict[Encoding, bytes] = {"identity": words, "gzip": gzip.compress(words), "deflate": zlib.compress(words)}
    for encoding, data in packed.items():
        body = await read_body(URL, pieces(data, 500), encoding, 1000)
        assert body == Body(words[:1000], truncated=True)


async def test_a_body_of_exactly_the_limit_is_whole() -> None:
    assert await read_body(URL, pieces(PAGE), "identity", len(PAGE)) == Body(PAGE)
    assert await read_body(URL, pieces(gzip.compress(PAGE)), "gzip", len(PAGE)) == Body(PAGE)


async def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    with pytest.raises(TooLarge):
        await read_body(URL, pieces(bomb, 65536), "gzip", 5_000_000)


async def test_others_are_served_while_a_small_chunk_unpacks_to_a_large_body() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    page = os.urandom(1000) * 20_000
    packed: dict[Encoding, bytes] = {"gzip": gzip.compress(page), "deflate": raw_deflate(page)}
    for encoding, data in packed.items():
        counter = asyncio.create_task(count())
        body = await read_body(URL, pieces(data, len(data)), encoding, len(page))
        counter.cancel()
        assert body == Body(page)
        assert turns > len(page) // STEP // 2
        turns = 0


@pytest.mark.parametrize(
    ("header", "encoding"),
    [("", "identity"), ("identity", "identity"), ("GZIP", "gzip"), ("x-gzip", "gzip"), ("deflate", "deflate")],
)
def test_the_encodings_that_were_asked_for_are_known(header: str, encoding: str) -> None:
    assert parse_encoding(URL, header) == encoding


@pytest.mark.parametrize("header", ["br", "gzip, gzip", "zstd", "gzip, br"])
def test_every_other_encoding_is_refused(header: str) -> None:
    with pytest.raises(DecodeFailed, match=header):
        parse_encoding(URL, header)
