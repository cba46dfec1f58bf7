"""Who may talk to the daemon: the bearer token, and the check of Host, Origin and token before anything else.

The Host check stops a web page whose name was rebound to this machine, the Origin check stops every other page,
and the token stops every other user and program of this machine.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glados.core.errors import ConfigurationError
from glados.server.bodies import has_body
from glados.server.problems import Refusal

TOKEN_FILE = "token"  # noqa: S105 - a file's name
PUBLIC_PATHS = frozenset({"/healthz", "/readyz"})
PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "600",
}
_TOKEN = re.compile(r"[\x21-\x7e]+")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def given_token(token: SecretStr | None) -> str | None:
    """The token that the operator chose, if it can stand in a header."""
    if token is None:
        return None
    text = token.get_secret_value()
    if not _TOKEN.fullmatch(text):
        raise ConfigurationError(
            "SERVER_TOKEN is empty or has a character that cannot stand in a header:"
            " use printable ASCII without spaces, or leave it out to get a random one.",
            setting="SERVER_TOKEN",
        )
    return text


def load_token(data_dir: Path) -> str:
    """The token in the data directory, made when there is none; refused when it is not this user's secret alone."""
    path = data_dir / TOKEN_FILE
    try:
        return _read_token(path)
    except FileNotFoundError:
        pass
    try:
        _create_token(path)
    except OSError as error:
        raise ConfigurationError(
            f"The token file {str(path)!r} cannot be made ({error.strerror}): set GLADOS_DATA_DIR to a folder that"
            " can be written, or choose a token with SERVER_TOKEN.",
            file=str(path),
        ) from None
    return _read_token(path)


def _create_token(path: Path) -> None:
    """Written whole beside its place and linked into it: of two daemons one wins, and none reads half a token."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # another process was first: its token is the one
    finally:
        draft.unlink()


def _read_token(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _bad_token(path, f"cannot be read ({error.strerror})") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if os.name == "posix":
            if found.st_uid != os.geteuid():
                raise _bad_token(path, "belongs to another user")
            if found.st_mode & 0o077:
                raise _bad_token(path, f"is open to others (mode {stat.S_IMODE(found.st_mode):04o})")
        token = file.read(4096).decode("latin-1").strip()
    if not _TOKEN.fullmatch(token):
        raise _bad_token(path, "holds no token")
    return token


def _bad_token(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The token file {str(path)!r} {what}: delete it and start again, a new one is made.", file=str(path)
    )


@dataclass(frozen=True, slots=True)
class Doors:
    """The names under which the server is asked for, and the origins whose pages may ask."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> Doors:
        """The doors of a bound address and of what the operator allows besides."""
        names = {*LOOPBACK_NAMES, f"[{host}]" if ":" in host else host, *hosts}
        names = {name.strip().lower() for name in names}
        own = {f"http://{name}:{port}" for name in names} | ({f"http://{name}" for name in names if port == 80})
        listed = {origin.strip().rstrip("/").lower() for origin in origins}
        return cls(frozenset(names | {f"{name}:{port}" for name in names}), frozenset((own | listed) - {"null", "*"}))


class Guard:
    """Checks every request, HTTP or WebSocket, in this order: Host, Origin, token; and adds the security headers."""

    def __init__(self, app: ASGIApp, doors: Doors, token: Callable[[], str | None]) -> None:
        self.app = app
        self.doors = doors
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        origins = _values(scope, b"origin")
        send = _with_security_headers(send, next((origin for origin in origins if self._is_allowed(origin)), None))
        try:
            scope = _origin_form(scope, self._check_host)
            self._check_host(_only(scope, b"host"))
            self._check_origin(origins)
            if origins and _is_preflight(scope):
                await Response(status_code=204, headers=PREFLIGHT_HEADERS)(scope, receive, send)
                return
            if scope["path"] not in PUBLIC_PATHS:
                self._check_token(_values(scope, b"authorization"))
        except Refusal as refusal:
            await _refuse(refusal, scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check_host(self, host: str) -> None:
        if host.lower() not in self.doors.hosts:
            detail = f"The Host {host!r} is not served here: add it to SERVER_ALLOWED_HOSTS if it should be."
            raise Refusal(403, "host_not_allowed", detail)

    def _check_origin(self, origins: list[str]) -> None:
        if origins and (len(origins) > 1 or not self._is_allowed(origins[0])):
            detail = f"Pages of {origins[0]!r} may not ask here: add it to SERVER_ALLOWED_ORIGINS if they should."
            raise Refusal(403, "origin_not_allowed", detail)

    def _is_allowed(self, origin: str) -> bool:
        return origin.lower() in self.doors.origins

    def _check_token(self, given: list[str]) -> None:
        expected = self.token()
        if expected is None:
            raise Refusal(503, "not_ready", "The server is starting: ask /readyz and try again.", {"retry-after": "1"})
        scheme, _, token = given[0].strip().partition(" ") if len(given) == 1 else ("", "", "")
        same = hmac.compare_digest(token.strip().encode("latin-1"), expected.encode("ascii"))
        if scheme.lower() != "bearer" or not same:
            detail = "Send 'Authorization: Bearer TOKEN' with SERVER_TOKEN, or with the data directory's file 'token'."
            raise Refusal(401, "unauthorized", detail, {"www-authenticate": "Bearer"})


def _origin_form(scope: Scope, check_host: Callable[[str], None]) -> Scope:
    """The scope with a plain path: a request line may carry a whole URL, whose authority then counts as well."""
    raw: bytes = scope.get("raw_path") or b"/"
    if "\x00" in scope["path"] or b"%00" in scope["query_string"]:
        raise Refusal(400, "invalid_target", "The request's path or query holds the character %00.")
    if raw.startswith(b"/"):
        return scope
    path: str = scope["path"]
    target = urlsplit(path)
    if target.scheme.lower() not in ("http", "https") or not target.netloc:
        raise Refusal(400, "invalid_target", "The request line names no path: begin it with '/'.")
    check_host(target.netloc)
    return {**scope, "path": target.path or "/", "raw_path": urlsplit(raw).path or b"/"}


def _only(scope: Scope, name: bytes) -> str:
    values = _values(scope, name)
    if len(values) != 1:
        told = name.decode().title()
        raise Refusal(400, f"invalid_{name.decode()}", f"The request has {len(values)} {told} headers: send one.")
    return values[0]


def _values(scope: Scope, name: bytes) -> list[str]:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key == name]


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket" and "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.code})
        return
    close = scope["type"] == "http" and has_body(scope)
    await refusal.response(close=close)(scope, receive, send)


def _is_preflight(scope: Scope) -> bool:
    """Whether a browser asks, without the token, if a page of an allowed origin may send its request."""
    asks = _values(scope, b"access-control-request-method")
    return scope["type"] == "http" and scope["method"] == "OPTIONS" and len(asks) == 1


def _with_security_headers(send: Send, origin: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            headers["x-content-type-options"] = "nosniff"
            headers.setdefault("cache-control", "no-store")
            headers.setdefault("referrer-policy", "no-referrer")
            if origin is not None:
                headers["access-control-allow-origin"] = origin
                headers.add_vary_header("origin")
        await send(message)

    return sending
