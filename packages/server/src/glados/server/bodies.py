"""What a request may carry: JSON only, of limited size and depth, that every database can store.

The one exception is the import of sessions, which takes JSON lines and checks each of them itself.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glados.core.strict_json import UncleanJson, strict_json
from glados.server.problems import Refusal

BODY_SECONDS = 30.0
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
LINES_PATHS = frozenset({"/api/sessions/import"})


class JsonBodies:
    """Reads the whole body, refuses what is no clean JSON, and hands the body on in one piece."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self.app(scope, receive, send)
            return
        lines = scope["path"] in LINES_PATHS
        try:
            _check_type(scope, JSON_LINES if lines else JSON)
            body = await self._read(scope, receive)
            if body and not lines:
                check_json(body)
        except Refusal as refusal:
            await refusal.response(close=True)(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > self.max_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refusal(400, "incomplete_body", "The body ended before it was complete.")
                    body += message.get("body", b"")
                    if len(body) > self.max_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise Refusal(
                408, "request_timeout", f"The body did not arrive within {BODY_SECONDS:g} s: send it again."
            ) from None

    def _too_large(self) -> Refusal:
        detail = f"The body is larger than {self.max_bytes} bytes: send less or raise SERVER_MAX_BODY_BYTES."
        return Refusal(413, "body_too_large", detail)


def has_body(scope: Scope) -> bool:
    """Whether the request says that a body follows."""
    return _header(scope, b"content-length") not in (b"", b"0") or _header(scope, b"transfer-encoding") != b""


def check_json(body: bytes) -> None:
    """Refuse what parsers disagree on, and what PostgreSQL cannot store."""
    try:
        strict_json(body)
    except UncleanJson as error:
        raise Refusal(400, "invalid_json", f"The body is not clean JSON: {error}.") from None


def _check_type(scope: Scope, expected: str) -> None:
    media_type, _, parameters = _header(scope, b"content-type").decode("latin-1").lower().partition(";")
    charset = parameters.strip().removeprefix("charset=").strip('"')
    if media_type.strip() != expected or charset not in ("", "utf-8", "utf8"):
        detail = f"The body is {media_type.strip() or 'of no stated type'!r}: send {expected!r} in UTF-8."
        raise Refusal(415, "unsupported_media_type", detail)


def _header(scope: Scope, name: bytes) -> bytes:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read, then whatever comes after it (the client leaves)."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed
