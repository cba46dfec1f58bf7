from __future__ import annotations

from datetime import UTC, datetime

import pytest

from glados.core import Draft, MemorySessionStore, Message, SessionNotFound, TextPart
from glados.core.messages import user_message
from glados.core.sessions import new_id, timestamp


async def test_entries_are_numbered_from_one_without_gaps_and_each_follows_the_one_before() -> None:
    store = MemorySessionStore()
    session = await store.create(title="Cake")
    await store.append(session.id, [Draft("message", user_message("a"), "r1"), Draft("run_end", {}, "r1")])
    await store.append(session.id, [Draft("message", user_message("b"), "r2")])
    entries = await store.entries(session.id)
    now = await store.get(session.id)

    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert [entry.parent_id for entry in entries] == [None, entries[0].id, entries[1].id]
    assert (now.seq, now.head, now.title) == (3, entries[2].id, "Cake")


async def test_sessions_are_numbered_each_on_its_own() -> None:
    store = MemorySessionStore()
    first, second = await store.create(), await store.create()
    await store.append(first.id, [Draft("run_end", {})])
    [entry] = await store.append(second.id, [Draft("run_end", {})])

    assert (entry.seq, entry.session_id) == (1, second.id)


@pytest.mark.parametrize(
    ("after", "limit", "seqs"),
    [(0, None, [1, 2, 3]), (1, None, [2, 3]), (1, 1, [2]), (3, None, []), (9, 5, []), (-2, 2, [1, 2]), (0, 0, [])],
)
async def test_entries_can_be_read_from_behind_a_number(after: int, limit: int | None, seqs: list[int]) -> None:
    store = MemorySessionStore()
    session = await store.create()
    await store.append(session.id, [Draft("run_end", {})] * 3)

    assert [entry.seq for entry in await store.entries(session.id, after=after, limit=limit)] == seqs


async def test_what_was_read_does_not_change_when_more_is_appended() -> None:
    store = MemorySessionStore()
    session = await store.create()
    await store.append(session.id, [Draft("run_end", {})])
    entries = await store.entries(session.id)
    await store.append(session.id, [Draft("run_end", {})])

    assert (len(entries), session.seq) == (1, 0)


async def test_sessions_are_listed_the_newest_first_and_page_by_page() -> None:
    store = MemorySessionStore()
    ids = [(await store.create()).id for _ in range(4)]
    first = await store.list(limit=3)
    rest = await store.list(limit=3, before=first[-1].id)

    assert [session.id for session in (*first, *rest)] == ids[::-1]


async def test_an_unknown_session_is_named_by_everything() -> None:
    store = MemorySessionStore()

    for asking in (
        store.get("gone"),
        store.entries("gone"),
        store.append("gone", []),
        store.delete("gone"),
        store.list(before="gone"),
    ):
        with pytest.raises(SessionNotFound, match="no session 'gone'") as caught:
            await asking
        assert caught.value.data == {"session_id": "gone"}


async def test_a_deleted_session_is_gone() -> None:
    store = MemorySessionStore()
    session = await store.create()
    await store.delete(session.id)

    assert await store.list() == []
    with pytest.raises(SessionNotFound):
        await store.get(session.id)


async def test_an_entry_is_told_as_json_whatever_its_payload() -> None:
    store = MemorySessionStore()
    parent = await store.create()
    session = await store.create(parent_id=parent.id)
    said, end = await store.append(
        session.id,
        [Draft("message", Message("assistant", (TextPart("Hi"),)), "r", "ann"), Draft("run_end", {"stop": "end"})],
    )

    assert said.to_dict() == {
        "id": said.id,
        "session_id": session.id,
        "seq": 1,
        "parent_id": None,
        "kind": "message",
        "payload": {"role": "assistant", "parts": [{"type": "text", "text": "Hi"}]},
        "created_at": said.created_at,
        "run_id": "r",
        "principal": "ann",
    }
    assert end.to_dict()["payload"] == {"stop": "end"}
    assert (session.to_dict()["parent_id"], session.to_dict()["principal"]) == (parent.id, "local")


def test_ids_are_unique_and_times_are_utc() -> None:
    assert new_id() != new_id()
    assert datetime.fromisoformat(timestamp()).tzinfo == UTC
