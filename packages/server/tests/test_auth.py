"""Host, Origin and token, for HTTP and for WebSocket, and the token's file."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from glados.core import ConfigurationError
from glados.server.auth import Doors, Guard, given_token, load_token

AUTHORIZED = "Authorization: Bearer a-token-for-tests"


def get(*headers: str, target: str = "/api/plugins", version: str = "HTTP/1.1") -> str:
    return "\r\n".join((f"GET {target} {version}", "Connection: close", *headers, "", ""))


INBOUND = [
    # what arrives, status, code
    (get("Host: localhost:PORT", AUTHORIZED), 200, None),
    (get("Host: 127.0.0.1", AUTHORIZED), 200, None),
    (get("Host: LOCALHOST:PORT", AUTHORIZED), 200, None),
    (get("Host: [::1]:PORT", AUTHORIZED), 200, None),
    (get("Host: evil.test", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: 127.0.0.1.evil.test", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: localhost.:PORT", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: localhost:1", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: localhost:PORT@evil.test", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: 2130706433:PORT", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: ", AUTHORIZED), 403, "host_not_allowed"),
    (get(AUTHORIZED, version="HTTP/1.0"), 400, "invalid_host"),
    (get(AUTHORIZED), 400, "invalid_http"),
    (get("Host: localhost", "Host: localhost", AUTHORIZED), 400, "invalid_http"),
    (get("Host: localhost", "Host: localhost", AUTHORIZED, version="HTTP/1.0"), 400, "invalid_http"),
    (get("Host: localhost", AUTHORIZED, target="http://evil.test/api/plugins"), 403, "host_not_allowed"),
    (get("Host: localhost", AUTHORIZED, target="http://localhost:PORT@evil.test/"), 403, "host_not_allowed"),
    (get("Host: evil.test", AUTHORIZED, target="http://localhost/api/plugins"), 403, "host_not_allowed"),
    (get("Host: localhost", AUTHORIZED, target="http://localhost:PORT/api/plugins"), 200, None),
    (get("Host: localhost", target="http://localhost:PORT/healthz?x=1"), 200, None),
    (get("Host: localhost", AUTHORIZED, target="ftp://localhost/"), 400, "invalid_target"),
    (get("Host: localhost", AUTHORIZED, target="*"), 400, "invalid_target"),
    (get("Host: evil.test", "X-Forwarded-Host: localhost", AUTHORIZED), 403, "host_not_allowed"),
    (get("Host: evil.test", "Forwarded: host=localhost", "X-Real-IP: 127.0.0.1"), 403, "host_not_allowed"),
    (get("Host: localhost", "Origin: http://localhost:PORT", AUTHORIZED), 200, None),
    (get("Host: localhost", "Origin: http://127.0.0.1:PORT", AUTHORIZED), 200, None),
    (get("Host: localhost", "Origin: null", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: ", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: https://evil.test", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: http://localhost.evil.test", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: http://localhost:1", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: http://localhost", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: https://localhost:PORT", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: localhost", "Origin: http://localhost:PORT", "Origin: null", AUTHORIZED), 403, "origin_not_allowed"),
    (get("Host: evil.test", target="/healthz"), 403, "host_not_allowed"),
    (get("Host: localhost", "Origin: null", target="/healthz"), 403, "origin_not_allowed"),
    (get("Host: localhost", target="/healthz"), 200, None),
    (get("Host: localhost", target="/readyz"), 200, None),
    (get("Host: localhost"), 401, "unauthorized"),
    (get("Host: localhost", "Authorization: Bearer wrong"), 401, "unauthorized"),
    (get("Host: localhost", "Authorization: Bearer "), 401, "unauthorized"),
    (get("Host: localhost", "Authorization: Bearer \xe4"), 401, "unauthorized"),
    (get("Host: localhost", "Authorization: Basic a-token-for-tests"), 401, "unauthorized"),
    (get("Host: localhost", "Authorization: bearer a-token-for-tests"), 200, None),
    (get("Host: localhost", AUTHORIZED, AUTHORIZED), 401, "unauthorized"),
    (get("Host: localhost", target="/api/plugins?token=a-token-for-tests"), 401, "unauthorized"),
    (get("Host: localhost", target="/api/plugins?access_token=a-token-for-tests"), 401, "unauthorized"),
    (get("Host: localhost", "Cookie: token=a-token-for-tests"), 401, "unauthorized"),
    (get("Host: localhost", target="/api/openapi.json"), 401, "unauthorized"),
    (get("Host: localhost", target="/nowhere"), 401, "unauthorized"),
    (get("Host: localhost", target="/healthz/../api/plugins"), 401, "unauthorized"),
    (get("Host: localhost", target="//healthz"), 401, "unauthorized"),
    (get("Host: localhost", "Upgrade: websocket", "Origin: https://evil.test", AUTHORIZED, target="/ws"), 403, None),
    (get("Host: localhost", "Upgrade: websocket", target="/ws"), 401, None),
    (get("Host: localhost", AUTHORIZED, target="/api/sessions/a%00b"), 400, "invalid_target"),
    (get("Host: localhost", AUTHORIZED, target="/api/sessions?after=%00"), 400, "invalid_target"),
]


@pytest.mark.parametrize(("request_text", "status", "code"), INBOUND)
async def test_what_may_come_in(daemon: Any, request_text: str, status: int, code: str | None) -> None:
    found, headers, body = await daemon.raw(request_text)
    assert found == status, body
    if code is not None:
        problem = json.loads(body)
        assert (problem["code"], problem["status"]) == (code, status)
        assert headers["content-type"] == "application/problem+json"


async def test_a_refused_token_says_what_is_wanted(daemon: Any) -> None:
    _, headers, _ = await daemon.raw(get("Host: localhost"))
    assert headers["www-authenticate"] == "bearer"


async def test_every_answer_has_the_security_headers(daemon: Any) -> None:
    for path in ("/api/plugins", "/healthz", "/nowhere"):
        headers = (await daemon.client.get(path)).headers
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")


async def test_listed_hosts_and_origins_are_let_in(start: Any) -> None:
    daemon = await start(allowed_hosts=["Glados.example"], allowed_origins=["https://glados.example/"])
    listed = get("Host: glados.example", "Origin: https://glados.example", AUTHORIZED)
    assert (await daemon.raw(listed))[0] == 200
    assert (await daemon.raw(get("Host: other.example", AUTHORIZED)))[0] == 403


async def test_a_browser_may_send_the_requests_of_a_listed_page(start: Any) -> None:
    daemon = await start(allowed_origins=["https://page.example"])
    asks = {"origin": "https://page.example", "access-control-request-method": "POST", "authorization": ""}
    preflight = await daemon.client.options("/api/chat", headers=asks)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "https://page.example"
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    answer = await daemon.client.get("/api/plugins", headers={"origin": "https://page.example"})
    assert (answer.headers["access-control-allow-origin"], answer.headers["vary"]) == ("https://page.example", "origin")
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_browser_may_not_send_those_of_another_page(daemon: Any) -> None:
    asks = {"origin": "https://evil.test", "access-control-request-method": "POST"}
    preflight = await daemon.client.options("/api/chat", headers=asks)
    assert preflight.status_code == 403
    assert "access-control-allow-origin" not in preflight.headers


async def test_a_preflight_without_an_origin_is_no_way_around_the_token(daemon: Any) -> None:
    asks = {"access-control-request-method": "POST", "authorization": ""}
    assert (await daemon.client.options("/api/chat", headers=asks)).status_code == 401


def test_listing_null_or_everything_opens_nothing() -> None:
    doors = Doors.of("127.0.0.1", 8420, origins=["null", "*"])
    assert not doors.origins & {"null", "*"}


def test_on_port_80_the_origin_has_no_port() -> None:
    assert "http://localhost" in Doors.of("127.0.0.1", 80).origins
    assert "http://localhost" not in Doors.of("127.0.0.1", 8420).origins


WEBSOCKET: list[tuple[list[tuple[bytes, bytes]], bool]] = [
    ([(b"host", b"localhost"), (b"authorization", b"Bearer secret")], True),
    ([(b"host", b"localhost"), (b"origin", b"http://localhost:8420"), (b"authorization", b"Bearer secret")], True),
    ([(b"host", b"localhost"), (b"origin", b"https://evil.test"), (b"authorization", b"Bearer secret")], False),
    ([(b"host", b"evil.test"), (b"authorization", b"Bearer secret")], False),
    ([(b"host", b"localhost")], False),
]


@pytest.mark.parametrize(("headers", "allowed"), WEBSOCKET)
@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}])
async def test_a_websocket_is_checked_before_it_is_accepted(
    headers: list[tuple[bytes, bytes]], allowed: bool, extensions: dict[str, Any]
) -> None:
    sent: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    guard = Guard(inner, Doors.of("127.0.0.1", 8420), lambda: "secret")
    scope = {"type": "websocket", "path": "/ws", "query_string": b"token=secret", "headers": headers}
    await guard({**scope, "raw_path": b"/ws", "extensions": extensions}, receive, send)
    refused = "websocket.http.response.start" if extensions else "websocket.close"
    assert sent[0]["type"] == ("websocket.accept" if allowed else refused)


async def test_before_the_token_is_known_nothing_but_health_is_answered() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(send, Doors.of("127.0.0.1", 8420), lambda: None)  # pyright: ignore[reportArgumentType]
    scope = {"type": "http", "path": "/api/tools", "query_string": b"", "headers": [(b"host", b"localhost")]}
    await guard({**scope, "raw_path": b"/api/tools", "method": "GET"}, send, send)  # pyright: ignore[reportArgumentType]
    assert sent[0]["status"] == 503


def test_a_token_is_made_once_for_this_user_alone(tmp_path: Path) -> None:
    token = load_token(tmp_path)
    assert len(token) >= 40
    assert load_token(tmp_path) == token
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_processes_that_start_together_agree_on_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(load_token, [tmp_path] * 64))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_token_that_others_could_read_is_refused(tmp_path: Path, mode: int) -> None:
    load_token(tmp_path)
    (tmp_path / "token").chmod(mode)
    with pytest.raises(ConfigurationError, match=f"mode {mode:04o}.*delete it"):
        load_token(tmp_path)


def test_a_token_file_that_points_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("chosen-by-somebody-else")
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_token(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"\xff\xfe"])
def test_a_token_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(ConfigurationError, match="holds no token"):
        load_token(tmp_path)


def test_a_data_directory_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be made"):
        load_token(tmp_path / "missing")


@pytest.mark.parametrize("text", ["", " ", "two words", "t\u00f6ken", "line\nbreak"])
def test_a_chosen_token_that_no_header_can_carry_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="SERVER_TOKEN"):
        given_token(SecretStr(text))
