"""Export and import: the same sessions come back, whatever is in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from glados.core import (
    Charge,
    Draft,
    Entry,
    ImagePart,
    MemorySessionStore,
    Message,
    Session,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from glados.core.child_ids import ChildId
from glados.core.exports import PAGE, ExportedSession, json_lines
from glados.core.imports import LogReader, renamed
from glados.core.messages import user_message
from glados.core.sessions import new_id

TIME = "2026-02-03T04:05:06.789+00:00"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text("abcdefgh.-", min_size=1, max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
images = st.builds(ImagePart, st.just("image/png"), texts) | st.builds(ImagePart, url=texts)
notes = st.builds(lambda type, more: {**more, "type": type}, texts, objects)
results = st.builds(
    ToolResultPart,
    names,
    names,
    texts,
    st.booleans(),
    st.none() | names,
    st.none() | objects,
    st.lists(images, max_size=2).map(tuple),
    st.booleans(),
    st.none() | names,
    st.lists(notes, max_size=2).map(tuple),
)
said = st.builds(TextPart, texts)
thought = st.builds(ThinkingPart, texts, st.none() | objects)
calls = st.builds(ToolCallPart, names, names, texts)
messages = st.one_of(
    st.builds(lambda parts: Message("user", tuple(parts)), st.lists(said | images, max_size=3)),
    st.builds(
        lambda parts, model, stop: Message("assistant", tuple(parts), model, stop),
        st.lists(said | thought | calls, max_size=3),
        st.none() | names,
        st.none() | names,
    ),
    st.builds(lambda parts: Message("tool", tuple(parts)), st.lists(results, max_size=2)),
)
counts = st.integers(0, 10**6)
charges = st.builds(
    Charge, names, st.none() | st.builds(Usage, counts, counts, counts, counts), st.none() | st.floats(0, 100)
)
kinds = st.sampled_from(["permission_question", "permission_answer", "model_change", "artifact", "custom", "run_end"])


@st.composite
def entries_of(draw: st.DrawFn, session_id: str) -> list[Entry]:
    """A log with branches, compactions and charges."""
    entries: list[Entry] = []
    for seq in range(1, draw(st.integers(0, 5)) + 1):
        ids = [entry.id for entry in entries]
        kind: Any = draw(st.just("message") | kinds | (st.just("compaction") if ids else st.nothing()))
        payload: Any = draw(messages) if kind == "message" else draw(objects)
        if kind == "compaction":
            payload = {"summary": draw(texts), "first_kept_id": draw(st.sampled_from(ids)), "tainted": True}
        parent = draw(st.none() | st.sampled_from(ids)) if ids else None
        entry = Entry(new_id(), session_id, seq, parent, kind, payload, TIME, draw(st.none() | names))
        origin, spent = draw(st.none() | st.just(new_id())), draw(st.lists(charges, max_size=2))
        entries.append(replace(entry, origin_id=origin, charges=tuple(spent)))
    return entries


@st.composite
def logs(draw: st.DrawFn) -> list[ExportedSession]:
    """Sessions, the first one above the others."""
    found: list[ExportedSession] = []
    for number in range(draw(st.integers(1, 3))):
        id = new_id()
        entries = draw(entries_of(id))
        session = Session(
            id,
            draw(st.none() | texts),
            TIME,
            TIME,
            found[draw(st.integers(0, number - 1))].session.id if number else None,
            draw(names),
            len(entries),
            draw(st.sampled_from([None, *(entry.id for entry in entries)])),
            tuple(draw(st.lists(names, max_size=2, unique=True))),
            forked_from=draw(st.none() | st.just(new_id())),
            tainted=True,
        )
        found.append(ExportedSession(session, entries))
    return found


async def store_of(logs: Sequence[ExportedSession]) -> MemorySessionStore:
    store = MemorySessionStore()
    for log in logs:
        await store.restore([(log.session, log.entries)])
    return store


async def exported(store: MemorySessionStore, session_id: str) -> list[bytes]:
    return [line.encode() async for line in json_lines(store, await store.get(session_id))]


@given(logs())
@settings(deadline=None, max_examples=60)
async def test_an_export_imported_again_is_the_same_to_the_byte(logs: list[ExportedSession]) -> None:
    root = logs[0].session.id
    before = await store_of(logs)
    lines = await exported(before, root)
    after = await store_of(LogReader().read(lines))

    assert await exported(after, root) == lines
    assert [await after.get(log.session.id) for log in logs] == [await before.get(log.session.id) for log in logs]
    assert await after.costs(root) == await before.costs(root)


@given(logs())
@settings(deadline=None, max_examples=60)
async def test_where_ids_are_taken_every_reference_is_to_the_new_ones(logs: list[ExportedSession]) -> None:
    before = await exported(await store_of(logs), logs[0].session.id)
    read = LogReader().read(before)
    moved = renamed(read, {log.session.id for log in read})
    after = await exported(await store_of(moved), moved[0].session.id)
    pairs = list(zip(read, moved, strict=True))
    ids = {old.session.id: new.session.id for old, new in pairs}
    ids |= {a.id: b.id for old, new in pairs for a, b in zip(old.entries, new.entries, strict=True)}

    assert not {log.session.id for log in read} & {log.session.id for log in moved}
    text = b"".join(before).decode()
    for old, new in ids.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    assert b"".join(after).decode() == text


async def test_an_export_is_a_line_for_a_session_one_for_each_entry_and_then_the_sessions_below() -> None:
    store = MemorySessionStore()
    root = await store.create(title="Cake")
    child = await store.create(parent_id=root.id)
    await store.append(root.id, [Draft("message", user_message("Bake"), "r"), Draft("run_end", {"stop": "end"}, "r")])
    await store.append(child.id, [Draft("run_end", {})])
    lines = [json.loads(line) for line in await exported(store, root.id)]

    assert [line["type"] for line in lines] == ["session", "entry", "entry", "session", "entry"]
    assert {"version": 1, "id": root.id, "title": "Cake", "seq": 2}.items() <= lines[0].items()
    assert lines[3]["parent_id"] == root.id
    assert lines[1]["payload"] == {"role": "user", "parts": [{"type": "text", "text": "Bake"}]}


async def test_a_session_below_another_is_exported_as_one_of_its_own() -> None:
    store = MemorySessionStore()
    child = await store.create(parent_id=(await store.create()).id)
    [line] = await exported(store, child.id)

    assert json.loads(line)["parent_id"] is None


async def test_what_is_appended_during_an_export_is_not_in_it() -> None:
    store = MemorySessionStore()
    session = await store.create()
    await store.append(session.id, [Draft("run_end", {})] * (PAGE + 1))
    lines = json_lines(store, await store.get(session.id))
    first = json.loads(await anext(lines))
    await store.append(session.id, [Draft("run_end", {})])
    rest = [json.loads(line) async for line in lines]

    assert first["seq"] == len(rest) == PAGE + 1
    assert first["head"] == rest[-1]["id"]


async def test_what_json_cannot_hold_is_exported_as_what_it_can() -> None:
    store = MemorySessionStore()
    session = await store.create(title="half \ud83d of it")
    await store.append(session.id, [Draft("custom", {"n": float("nan"), "s": "\ud800"})])
    lines = await exported(store, session.id)

    assert json.loads(lines[0])["title"] == "half \ufffd of it"
    assert json.loads(lines[1])["payload"] == {"n": None, "s": "\ufffd"}
    assert LogReader().read(lines)


async def test_the_session_of_an_agent_goes_on_telling_which_message_asked_for_it() -> None:
    store = MemorySessionStore()
    root = await store.create()
    [asked] = await store.append(root.id, [Draft("message", Message("assistant", ()))])
    child = await store.create(id=str(ChildId.of(asked.id, "call_1")), parent_id=root.id)
    await store.append(child.id, [Draft("run_end", {})])
    logs = LogReader().read(await exported(store, root.id))
    for taken in ({root.id}, {root.id, child.id}):
        above, below = renamed(logs, taken)
        assert below.session.id == str(ChildId.of(above.entries[0].id, "call_1"))
        assert (below.session.parent_id, below.entries[0].session_id) == (above.session.id, below.session.id)
    above, below = renamed(logs, {child.id})
    assert (above.session.id, below.session.parent_id) == (root.id, root.id)
    assert below.session.id not in (child.id, root.id)
