"""What a request may carry: JSON only, of limited size and depth, that every database can store."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glados.server.problems import Refusal

MAX_DEPTH = 64
BODY_SECONDS = 30.0
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_LONE = re.compile(rb"\\u[dD][89a-fA-F]")


class _Unclean(ValueError):
    """Something that the grammar allows, and this server does not."""


class JsonBodies:
    """Reads the whole body, refuses what is no clean JSON, and hands the body on in one piece."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app = app
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self.app(scope, receive, send)
            return
        try:
            _check_type(scope)
            body = await self._read(scope, receive)
            if body:
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
        text = body.decode("utf-8")
        value: object = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number)
    except UnicodeDecodeError as error:
        raise _invalid(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _invalid(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _too_deep() from None
    except _Unclean as error:
        raise _invalid(str(error)) from None
    except ValueError:  # the interpreter's own limit on the digits of an integer
        raise _invalid("a number has too many digits") from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    _check_escapes(body)


def _check_type(scope: Scope) -> None:
    media_type, _, parameters = _header(scope, b"content-type").decode("latin-1").lower().partition(";")
    charset = parameters.strip().removeprefix("charset=").strip('"')
    if media_type.strip() != "application/json" or charset not in ("", "utf-8", "utf8"):
        detail = f"The body is {media_type.strip() or 'of no stated type'!r}: send 'application/json' in UTF-8."
        raise Refusal(415, "unsupported_media_type", detail)


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise _too_deep()


def _children(item: object) -> list[object]:
    """The containers directly inside of a container; the iteration never recurses, whatever the depth."""
    if isinstance(item, dict):
        values = cast("dict[str, object]", item).values()
    elif isinstance(item, list):
        values = cast("list[object]", item)
    else:
        return []
    return [value for value in values if isinstance(value, (dict, list))]


def _check_escapes(body: bytes) -> None:
    """NUL and lone surrogates can only come as escapes: the bytes are valid UTF-8 and JSON allows no raw NUL."""
    if b"\\u" not in body:
        return
    escapes = body.replace(b"\\\\", b"__")
    if b"\\u0000" in escapes:
        raise _invalid(r"a string holds the character \u0000")
    if _LONE.search(_PAIR.sub(b"", escapes)):
        raise _invalid("a string holds half of a surrogate pair")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _Unclean(f"the key {twice!r} stands twice in one object")
    return found


def _constant(name: str) -> NoReturn:
    raise _Unclean(f"{name} is no JSON number")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Unclean(f"the number {text[:40]} is too large")
    return number


def _invalid(what: str) -> Refusal:
    return Refusal(400, "invalid_json", f"The body is not clean JSON: {what}.")


def _too_deep() -> Refusal:
    return _invalid(f"it is nested deeper than {MAX_DEPTH} levels")


def _header(scope: Scope, name: bytes) -> bytes:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read, then whatever comes after it (the client leaves)."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed
