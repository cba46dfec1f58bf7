"""The process that converts pages, one at a time, for the one who started it: `python -m … SECONDS MEMORY`.

Whoever writes a page chooses what its conversion costs. So the kernel ends this process when one takes too much CPU
time, also in the middle of C code, and gives it no more memory than it may have.
"""

from __future__ import annotations

import gc
import resource
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from selectolax.lexbor import SelectolaxError

from glados.web_fetch import cpu_limit
from glados.web_fetch.convert import convert
from glados.web_fetch.cpu_limit import OutOfTime
from glados.web_fetch.errors import UnsupportedType
from glados.web_fetch.frames import LENGTHS, READY, packed, parse_header
from glados.web_fetch.media import Media
from glados.web_fetch.pages import Source


def main(seconds: float, memory: int) -> None:
    """Answer one frame with another, until there is none or this process has grown too large for the next page."""
    # What is imported when it is first used is imported now: it is not to be counted against a page.
    convert(Source("https://example.com/", Media("text/html"), b"<p>\xe9</p>"), "markdown", "main")
    limit_process(memory)
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    replies.write(READY)
    replies.flush()
    is_spent = False
    while not is_spent and (frame := read_frame(requests)) is not None:
        cpu_limit.start(seconds)
        header, body = answer(*frame)
        gc.collect()
        cpu_limit.start(0)
        is_spent = mapped_memory() > memory // 2
        for piece in packed({**header, "last": is_spent}, body):
            replies.write(piece)
        replies.flush()


def limit_process(memory: int) -> None:
    """Have the kernel hold the limits: nothing that a page does can lift them."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    cpu_limit.prepare()
    # A tree has no cycles: collecting in the middle of a page only walks over it again and again.
    gc.freeze()
    gc.disable()


def mapped_memory() -> int:
    """How many bytes count against the limit now: what is freed is not always given back; 0 where nobody tells."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next frame, None when the other side is gone."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    header, body = stream.read(header_length), stream.read(body_length)
    return (parse_header(header), body) if len(body) == body_length else None


def answer(header: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The page, or the name of what is wrong with it."""
    source = Source(header["url"], Media(header["type"], header["charset"]), body)
    try:
        page = convert(source, header["mode"], header["content"])
    except UnsupportedType:
        return {"error": UnsupportedType.code}, b""
    except (MemoryError, SelectolaxError, OutOfTime):  # the parser fails only where it is given no more memory
        return {"error": "limit"}, b""
    except Exception:
        return {"error": "failure"}, traceback.format_exc(limit=-5).encode("utf-8", "replace")
    told = {name: getattr(page, name) for name in ("title", "published", "alternate", "removed", "replaced")}
    return told, page.text.encode("utf-8", "replace")


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
