"""Sessions over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from glados.core import Charge, Draft, Usage
from glados.core.messages import user_message
from glados.server.wire import EntryReply, FoundReply, SessionDetail, SessionReply


async def test_a_session_is_created_read_and_deleted(daemon: Any) -> None:
    created = await daemon.client.post("/api/sessions", json={"title": "Ship it"})
    session = SessionReply.model_validate(created.json(), extra="forbid")
    assert (created.status_code, session.title) == (201, "Ship it")
    path = created.headers["location"]
    assert (await daemon.client.get(path)).json() == {**created.json(), "costs": []}
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
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/entries"),
        ("POST", "/abort"),
        ("POST", "/fork"),
        ("GET", "/export"),
        ("GET", "/export?format=markdown"),
        ("PATCH", ""),
        ("POST", "/switch"),
    ],
)
async def test_an_unknown_session_is_not_found(daemon: Any, method: str, path: str) -> None:
    bodies = {"PATCH": {"title": "x"}, "POST/switch": {"entry_id": None}}
    body = bodies.get(method) or bodies.get(method + path)
    answer = await daemon.client.request(method, f"/api/sessions/nothing{path}", json=body)
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


async def test_a_list_is_ordered_and_narrowed_as_asked(daemon: Any) -> None:
    client, store = daemon.client, daemon.app.sessions
    cake = await store.create(title="The Cake", tags=["sweet"])
    pie = await store.create(title="A pie", tags=["sweet", "round"])
    await store.create(title="cake child", parent_id=pie.id)

    async def listed(**query: Any) -> list[str]:
        return [session["title"] for session in (await client.get("/api/sessions", params=query)).json()]

    assert await listed(roots=True) == ["A pie", "The Cake"]
    assert await listed(title="CAKE") == ["cake child", "The Cake"]
    assert await listed(tag="round") == ["A pie"]
    assert await listed(tag="sweet", after=pie.id) == ["The Cake"]
    assert set(await listed(order="updated")) == {"cake child", "A pie", "The Cake"}
    unknown = await client.get("/api/sessions", params={"after": "nothing"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "session_not_found")
    assert (await client.get("/api/sessions", params={"order": "size"})).status_code == 422
    assert (await client.get("/api/sessions", params={"limit": 1001})).status_code == 422
    assert cake.id


async def test_a_session_tells_what_was_spent_by_model(daemon: Any) -> None:
    session = await daemon.app.create_session()
    charges = (Charge("small", Usage(1, 2), 0.5), Charge("large", Usage(10, 20), None))
    await daemon.app.sessions.append(session.id, [Draft("message", user_message("hi"), charges=charges)])
    told = (await daemon.client.get(f"/api/sessions/{session.id}")).json()
    costs = {cost.model: cost for cost in SessionDetail.model_validate(told, extra="forbid").costs}
    assert (costs["small"].cost, costs["large"].cost, costs["large"].usage.input_tokens) == (0.5, None, 10)
    [entry] = (await daemon.client.get(f"/api/sessions/{session.id}/entries")).json()
    assert [charge.model for charge in EntryReply.model_validate(entry, extra="forbid").charges] == ["small", "large"]


async def test_title_and_tags_are_changed_each_alone_or_both(daemon: Any) -> None:
    session = await daemon.app.create_session("Old")
    path = f"/api/sessions/{session.id}"
    changed = await daemon.client.patch(path, json={"title": " New "})
    assert (changed.status_code, changed.json()["title"], changed.json()["tags"]) == (200, "New", [])
    assert (await daemon.client.patch(path, json={"tags": ["a", "b"]})).json()["tags"] == ["a", "b"]
    both = (await daemon.client.patch(path, json={"title": "Newer", "tags": []})).json()
    assert (both["title"], both["tags"]) == ("Newer", [])


@pytest.mark.parametrize(
    "body", [{}, {"title": " "}, {"title": "x" * 501}, {"tags": [""]}, {"tags": ["x" * 101]}, {"colour": "red"}]
)
async def test_a_change_that_cannot_be_changes_nothing(daemon: Any, body: dict[str, Any]) -> None:
    session = await daemon.app.create_session("Old")
    answer = await daemon.client.patch(f"/api/sessions/{session.id}", json={**body})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert await daemon.app.sessions.get(session.id) == session


async def test_a_session_forks_at_an_entry_and_both_go_on(daemon: Any) -> None:
    session = (await daemon.client.post("/api/chat", json={"prompt": "hello"})).json()["session_id"]
    path = f"/api/sessions/{session}"
    entries = (await daemon.client.get(f"{path}/entries")).json()
    whole = await daemon.client.post(f"{path}/fork")
    assert (whole.status_code, whole.json()["seq"], whole.json()["forked_from"]) == (201, 3, session)
    short = await daemon.client.post(f"{path}/fork", json={"at": entries[0]["id"], "title": "Short"})
    assert (short.json()["seq"], short.json()["title"]) == (1, "Short")
    [copy] = (await daemon.client.get(f"{short.headers['location']}/entries")).json()
    assert copy["origin_id"] == entries[0]["id"]
    answer = await daemon.client.post("/api/chat", json={"prompt": "on", "session_id": short.json()["id"]})
    assert answer.status_code == 200
    unknown = await daemon.client.post(f"{path}/fork", json={"at": "nothing"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "entry_not_found")


async def test_a_session_goes_on_behind_another_entry(daemon: Any) -> None:
    session = (await daemon.client.post("/api/chat", json={"prompt": "hello"})).json()["session_id"]
    path = f"/api/sessions/{session}"
    first = (await daemon.client.get(f"{path}/entries")).json()[0]
    switched = await daemon.client.post(f"{path}/switch", json={"entry_id": first["id"]})
    assert (switched.status_code, switched.json()["head"]) == (200, first["id"])
    await daemon.client.post("/api/chat", json={"prompt": "again", "session_id": session})
    assert (await daemon.client.get(f"{path}/entries")).json()[3]["parent_id"] == first["id"]
    assert (await daemon.client.post(f"{path}/switch", json={"entry_id": None})).json()["head"] is None
    unknown = await daemon.client.post(f"{path}/switch", json={"entry_id": "nothing"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "entry_not_found")
    assert (await daemon.client.post(f"{path}/switch", json={})).status_code == 422


async def test_a_session_that_works_is_neither_switched_nor_forked(daemon: Any, gate: Any) -> None:
    session = (await daemon.client.post("/api/sessions")).json()["id"]
    body = {"prompt": "/call demo.wait {}", "session_id": session}
    running = asyncio.create_task(daemon.client.post("/api/chat", json=body))
    await gate.entered.wait()
    for action, asked in (("switch", {"entry_id": None}), ("fork", {})):
        answer = await daemon.client.post(f"/api/sessions/{session}/{action}", json=asked)
        assert (answer.status_code, answer.json()["code"]) == (409, "session_busy")
    gate.opened.set()
    assert (await running).status_code == 200
    assert (await daemon.client.post(f"/api/sessions/{session}/fork")).status_code == 201


async def test_words_are_found_in_prompts_and_answers(daemon: Any) -> None:
    one, two = await daemon.app.create_session("One"), await daemon.app.create_session("Two")
    for session in (one, two):
        await daemon.app.sessions.append(session.id, [Draft("message", user_message("The cake is a lie"))])
    found = (await daemon.client.get("/api/sessions/search", params={"q": "lie cake"})).json()
    assert {FoundReply.model_validate(hit, extra="forbid").title for hit in found} == {"One", "Two"}
    query = {"q": "cake", "session_id": one.id, "limit": 1}
    assert [hit["title"] for hit in (await daemon.client.get("/api/sessions/search", params=query)).json()] == ["One"]
    assert (await daemon.client.get("/api/sessions/search", params={"q": "pie"})).json() == []


@pytest.mark.parametrize("query", ["", "q=", "q=%20", "q=x&limit=0", f"q={'x' * 1001}"])
async def test_a_search_for_nothing_is_refused(daemon: Any, query: str) -> None:
    answer = await daemon.client.get(f"/api/sessions/search?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_deleting_a_session_deletes_those_below_it(daemon: Any) -> None:
    root = await daemon.app.create_session()
    child = await daemon.app.sessions.create(parent_id=root.id)
    await daemon.client.delete(f"/api/sessions/{root.id}")
    assert (await daemon.client.get(f"/api/sessions/{child.id}")).status_code == 404
