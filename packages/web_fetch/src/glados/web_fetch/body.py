"""Reads a body within limits: so many bytes, one known compression, no bomb."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, Iterator
from dataclasses import dataclass
from typing import Literal

from glados.web_fetch.errors import DecodeFailed, TooLarge

Encoding = Literal["identity", "gzip", "deflate"]

# Pages shrink 3 to 20 times; only zeros and the like come near deflate's limit of 1032.
BOMB_RATIO = 100
_GZIP, _ZLIB, _RAW = 31, 15, -15
_ZLIB_HEADER = 2
# So much is unpacked at a time.
STEP = 256 * 1024


@dataclass(frozen=True, slots=True)
class Body:
    """What was read, and whether there was more."""

    data: bytes
    truncated: bool = False


def parse_encoding(url: str, header: str) -> Encoding:
    """The one compression of a Content-Encoding header, out of those that were asked for."""
    names = [name.strip().lower() for name in header.split(",")]
    match [name for name in names if name not in ("", "identity")]:
        case []:
            return "identity"
        case ["gzip" | "x-gzip"]:
            return "gzip"
        case ["deflate"]:
            return "deflate"
        case unknown:
            raise DecodeFailed(url, f"unexpected content encoding {', '.join(unknown)[:100]!r}")


async def read_body(url: str, chunks: AsyncIterable[bytes], encoding: Encoding, limit: int) -> Body:
    """Read and decompress up to `limit` bytes; a longer body is cut, a bomb refused."""
    inflater = None if encoding == "identity" else _Inflater(url, encoding)
    data, received = bytearray(), 0
    async for chunk in chunks:
        received += len(chunk)
        for piece in [chunk] if inflater is None else inflater.feed(chunk, limit + 1 - len(data)):
            data += piece
            if len(piece) == STEP:
                await asyncio.sleep(0)  # a small chunk can unpack to many pieces: others are served in between
        if max(len(data), received) > limit:
            if inflater is not None and inflater.is_bomb:
                raise TooLarge(url, limit)
            return Body(bytes(memoryview(data)[:limit]), truncated=True)
    if inflater is not None:
        inflater.finish()
    return Body(bytes(data))


class _Inflater:
    """Decompresses no further than there is room for, so that a bomb costs no more than a page."""

    def __init__(self, url: str, encoding: Encoding) -> None:
        self._url = url
        self._stream = zlib.decompressobj(_GZIP if encoding == "gzip" else _ZLIB)
        self._may_be_raw = encoding == "deflate"
        self._first = b""  # what came while nobody could tell
        self._received = 0
        self._produced = 0

    @property
    def is_bomb(self) -> bool:
        """Whether what was decompressed so far is far larger than it came."""
        consumed = self._received - len(self._stream.unconsumed_tail)
        return self._produced > BOMB_RATIO * max(consumed, 1)

    def feed(self, chunk: bytes, room: int) -> Iterator[bytes]:
        """At most `room` more bytes, piece by piece; what follows the end of the stream is ignored."""
        self._received += len(chunk)
        is_full = False  # then there may be more, although all that came has been taken in
        while room and (chunk or is_full) and not self._stream.eof:
            step = min(STEP, room)
            piece = self._inflated(chunk, step)
            is_full, room = len(piece) == step, room - len(piece)
            self._produced += len(piece)
            yield piece
            chunk = self._stream.unconsumed_tail

    def _inflated(self, chunk: bytes, step: int) -> bytes:
        try:
            piece = self._stream.decompress(chunk, step)
        except zlib.error as error:
            if not self._may_be_raw:
                raise DecodeFailed(self._url, "its compression is broken") from error
            # Some servers mean the bare stream by "deflate", without the header that the standard wants.
            self._stream, self._may_be_raw = zlib.decompressobj(_RAW), False
            return self._inflated(self._first + chunk, step)
        if self._may_be_raw:
            self._first, self._may_be_raw = self._first + chunk, self._received < _ZLIB_HEADER
        return piece

    def finish(self) -> None:
        """Refuse a stream that ended too early; an empty body is no stream."""
        if self._received and not self._stream.eof:
            raise DecodeFailed(self._url, "its compressed content ends too early")
