"""Bodies: JSON only, of limited size and depth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from glados.core.strict_json import MAX_DEPTH
from glados.server.bodies import check_json
from glados.server.problems import Refusal


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"[" * 100_000, "nested"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "nested"),
        (b'{"n": NaN}', "NaN"),
        (b'{"n": -Infinity}', "Infinity"),
        (b'{"n": 1e999}', "1e999"),
        (b'{"n": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a": 1, "b": 2, "a": 3}', "'a' stands twice"),
        (rb'{"s": "\ud83d"}', "surrogate"),
        (rb'{"s": "\ude00\ud83d"}', "surrogate"),
        (rb'{"s": "\ud83d\\\ude00"}', "surrogate"),
        (rb'{"\uDEAD": 1}', "surrogate"),
        (rb'{"s": "a\u0000b"}', r"\\u0000"),
        (rb'{"s": "\\\u0000"}', r"\\u0000"),
        (b'{"s": "a\x00b"}', "control character"),
        (b'{"s": "\xff"}', "UTF-8"),
        ('{"s": 1}'.encode("utf-16"), "UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"a": 1,}', "line 1"),
        (b"{} {}", "Extra data"),
    ],
)
def test_what_parsers_disagree_on_is_refused_by_name(body: bytes, what: str) -> None:
    with pytest.raises(Refusal, match=what) as caught:
        check_json(body)
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")


@pytest.mark.parametrize(
    "value",
    [
        {"text": "smile \U0001f600, backslash \\u0000, \\ud83d and \\\\", "n": [1, -2.5, 1e300, None, True]},
        [[]] * 10_000,
        {"s": '"[[[[' * 100},
    ],
)
def test_clean_json_passes_escaped_or_not(value: Any) -> None:
    check_json(json.dumps(value).encode())
    check_json(json.dumps(value, ensure_ascii=False).encode())


def test_the_deepest_allowed_nesting_passes() -> None:
    check_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(Refusal):
        check_json(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_a_body_that_a_page_could_send_without_preflight_is_refused(daemon: Any, media_type: str) -> None:
    answer = await daemon.client.post("/api/sessions", content=b"{}", headers={"content-type": media_type})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=UTF-8"])
async def test_json_in_utf8_is_taken_however_it_is_spelt(daemon: Any, media_type: str) -> None:
    answer = await daemon.client.post("/api/sessions", content=b"{}", headers={"content-type": media_type})
    assert answer.status_code == 201


async def test_another_charset_is_refused(daemon: Any) -> None:
    headers = {"content-type": "application/json; charset=utf-16"}
    answer = await daemon.client.post("/api/sessions", content='{"title": 1}'.encode("utf-16"), headers=headers)
    assert answer.status_code == 415


async def test_a_body_over_the_limit_is_refused_before_it_is_read(start: Any) -> None:
    daemon = await start(max_body_bytes=1000)
    head = "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a-token-for-tests\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    status, headers, body = await daemon.raw(head)
    assert (status, headers["connection"], json.loads(body)["code"]) == (413, "close", "body_too_large")


async def test_a_chunked_body_over_the_limit_is_refused_without_a_length(start: Any) -> None:
    daemon = await start(max_body_bytes=1000)

    async def chunks() -> Any:
        for _ in range(30):
            yield b" " * 50

    headers = {"content-type": "application/json"}
    answer = await daemon.client.post("/api/sessions", content=chunks(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_a_body_of_just_the_limit_is_taken(start: Any) -> None:
    daemon = await start(max_body_bytes=1000)
    body = b"{}" + b" " * 998
    headers = {"content-type": "application/json"}
    assert (await daemon.client.post("/api/sessions", content=body, headers=headers)).status_code == 201


async def test_deep_json_is_an_answer_and_not_a_crash(daemon: Any) -> None:
    headers = {"content-type": "application/json"}
    answer = await daemon.client.post("/api/tools/demo.echo", content=b"[" * 100_000, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


async def test_a_body_that_never_ends_is_given_up(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glados.server.bodies.BODY_SECONDS", 0.05)
    head = "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a-token-for-tests\r\n"
    status, _, body = await daemon.raw(head + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
    assert (status, json.loads(body)["code"]) == (408, "request_timeout")
