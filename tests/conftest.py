"""What whole-system tests share: a small site on a real socket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

PAGE = (
    """<!doctype html><html><head><title>Aperture</title></head><body>
<h1>The Enrichment Center</h1>
<p>Welcome to <a href="/cake">the cake</a>.</p>
<p>"""
    + ("This was a triumph. " * 30)
    + """</p></body></html>"""
)


@dataclass
class Site:
    """A site on loopback; `paths` are those that were asked for."""

    url: str
    host: str
    paths: list[str] = field(default_factory=list[str])


@pytest.fixture
def site() -> Iterator[Site]:
    """A local site with one page at every path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.paths.append(self.path)
            body = PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Site(f"http://127.0.0.1:{server.server_address[1]}/", "127.0.0.1")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()
