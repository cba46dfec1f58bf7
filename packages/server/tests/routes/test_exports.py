"""Sessions out of one daemon and into another."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from glados.core import Draft
from glados.core.messages import user_message
from glados.server.routes.exports import CHUNK
from glados.server.wire import SessionReply

LINES = {"content-type": "application/x-ndjson"}


async def talked(daemon: Any) -> str:
    return (await daemon.client.post("/api/chat", json={"prompt": "hello"})).json()["session_id"]


async def test_json_lines_come_as_a_file_and_go_in_again(daemon: Any) -> None:
    session = await talked(daemon)
    await daemon.app.sessions.create(parent_id=session)
    exported = await daemon.client.get(f"/api/sessions/{session}/export")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert exported.headers["content-disposition"] == f'attachment; filename="session-{session}.jsonl"'
    assert [json.loads(line)["type"] for line in exported.text.splitlines()] == ["session", *["entry"] * 3, "session"]

    imported = await daemon.client.post("/api/sessions/import", content=exported.content, headers=LINES)
    assert imported.status_code == 201
    copies = [SessionReply.model_validate(session, extra="forbid") for session in imported.json()]
    assert [copy.tainted for copy in copies] == [True, True]
    assert (copies[0].id != session, copies[1].parent_id) == (True, copies[0].id)

    await daemon.client.delete(f"/api/sessions/{session}")
    await daemon.client.post("/api/sessions/import", content=exported.content, headers=LINES)
    again = await daemon.client.get(f"/api/sessions/{session}/export?format=jsonl")
    assert again.content == exported.content


async def test_markdown_comes_as_a_file_to_read(daemon: Any) -> None:
    session = await talked(daemon)
    exported = await daemon.client.get(f"/api/sessions/{session}/export", params={"format": "markdown"})
    assert exported.headers["content-type"] == "text/markdown; charset=utf-8"
    assert exported.headers["content-disposition"] == f'attachment; filename="session-{session}.md"'
    assert exported.text.startswith("# hello\n")
    assert (await daemon.client.get(f"/api/sessions/{session}/export?format=pdf")).status_code == 422


async def test_a_long_export_comes_in_pieces(daemon: Any) -> None:
    session = await daemon.app.create_session()
    await daemon.app.sessions.append(session.id, [Draft("message", user_message("x" * 10_000))] * 20)
    async with daemon.client.stream("GET", f"/api/sessions/{session.id}/export") as answer:
        assert "content-length" not in answer.headers
        pieces = [piece async for piece in answer.aiter_raw()]
    assert len(pieces) > 1
    assert sum(map(len, pieces)) > 3 * CHUNK


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "no session"),
        (b"{}", "Line 1 .*type is None"),
        (b'\n{"type": "session", "version": 9}', "Line 2 .*version is 9"),
        (b'{"type": "session", "version": 1}', "Line 1 .*id"),
    ],
)
async def test_what_cannot_be_imported_is_told_with_its_line(daemon: Any, content: bytes, what: str) -> None:
    answer = await daemon.client.post("/api/sessions/import", content=content, headers=LINES)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert re.search(what, answer.json()["detail"])


async def test_json_lines_are_taken_there_alone_and_nothing_else_is(daemon: Any) -> None:
    for path, kind in (("/api/sessions/import", "application/json"), ("/api/chat", "application/x-ndjson")):
        answer = await daemon.client.post(path, content=b"{}", headers={"content-type": kind})
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    answer = await daemon.client.post("/api/sessions/import", content=b"{}", headers={"content-type": "text/plain"})
    assert "'application/x-ndjson'" in answer.json()["detail"]


async def test_an_import_is_as_large_as_any_body(daemon: Any) -> None:
    answer = await daemon.client.post("/api/sessions/import", content=b" " * 1_000_001, headers=LINES)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_the_openapi_document_says_what_goes_out_and_in(daemon: Any) -> None:
    paths = (await daemon.client.get("/api/openapi.json")).json()["paths"]
    exported = paths["/api/sessions/{session_id}/export"]["get"]["responses"]["200"]["content"]
    assert exported.keys() == {"application/x-ndjson", "text/markdown"}
    body = paths["/api/sessions/import"]["post"]["requestBody"]
    assert body["content"].keys() == {"application/x-ndjson"}
    query = {parameter["name"] for parameter in paths["/api/sessions"]["get"]["parameters"]}
    assert query == {"limit", "after", "order", "roots", "tag", "title"}
    assert {"patch", "get", "delete"} == paths["/api/sessions/{session_id}"].keys()
