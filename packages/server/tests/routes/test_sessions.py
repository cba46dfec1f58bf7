"""Sessions over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from glados.server.wire import EntryReply, SessionReply


async def test_a_session_is_created_read_and_deleted(daemon: Any) -> None:
    created = await daemon.client.post("/api/sessions", json={"title": "Ship it"})
    session = SessionReply.model_validate(created.json(), extra="forbid")
    assert (created.status_code, session.title) == (201, "Ship it")
    path = created.headers["location"]
    assert (await daemon.client.get(path)).json() == created.json()
    deleted = await daemon.client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await daemon.client.get(path)).status_code == 404


@pytest.mark.parametrize("content", [b"", b"{}", b"null"])
async def test_a_session_needs_no_title(daemon: Any, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    created = await daemon.client.post("/api/sessions", content=content, headers=headers)
    assert (created.status_code, created.json()["title"]) == (201, None)


async def test_sessions_are_listed_page_by_page(daemon: Any) -> None:
    made = [(await daemon.client.post("/api/sessions")).json()["id"] for _ in range(5)]
    found: list[str] = []
    page: list[dict[str, Any]] = (await daemon.client.get("/api/sessions", params={"limit": 2})).json()
    while page:
        found += [session["id"] for session in page]
        page = (await daemon.client.get("/api/sessions", params={"limit": 2, "after": found[-1]})).json()
    assert found == made[::-1]


async def test_entries_are_read_from_where_one_stopped(daemon: Any) -> None:
    session = (await daemon.client.post("/api/chat", json={"prompt": "hello"})).json()["session_id"]
    path = f"/api/sessions/{session}/entries"
    entries = (await daemon.client.get(path)).json()
    assert [EntryReply.model_validate(entry, extra="forbid").seq for entry in entries] == [1, 2, 3]
    assert (await daemon.client.get(path, params={"after": 1})).json() == entries[1:]
    assert (await daemon.client.get(path, params={"after": 1, "limit": 1})).json() == entries[1:2]
    assert (await daemon.client.get(path, params={"after": 99})).json() == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("DELETE", ""), ("GET", "/entries"), ("POST", "/abort")],
)
async def test_an_unknown_session_is_not_found(daemon: Any, method: str, path: str) -> None:
    answer = await daemon.client.request(method, f"/api/sessions/nothing{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=99999999999999999999", "limit=0"])
async def test_a_page_that_cannot_be_is_refused_by_name(daemon: Any, query: str) -> None:
    answer = await daemon.client.get(f"/api/sessions/x/entries?{query}")
    path = answer.json()["data"]["errors"][0]["path"]
    assert (answer.status_code, path) == (422, f"query.{query.partition('=')[0]}")


async def test_abort_ends_the_run_and_says_whether_there_was_one(daemon: Any, gate: Any) -> None:
    session = (await daemon.client.post("/api/sessions")).json()["id"]
    assert (await daemon.client.post(f"/api/sessions/{session}/abort")).json() == {"aborted": False}
    body = {"prompt": "/call demo.wait {}", "session_id": session}
    running = asyncio.create_task(daemon.client.post("/api/chat", json=body))
    await gate.entered.wait()
    assert (await daemon.client.post(f"/api/sessions/{session}/abort")).json() == {"aborted": True}
    assert (await running).json()["stop"] == "aborted"
