"""Payloads come back as they were, of every kind."""

from __future__ import annotations

import json
from typing import Any, get_args

from glados.core.messages import (
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    user_message,
)
from glados.core.sessions import Charge, Draft, EntryKind, SessionStore

TEXTS = ("", "plain", "Zürich 東京 🍰", "a\0b\x1f\x7f", "\u2028\u2029\ufeff\uffff", "\\u0000 \\ \" ' ?", "x" * 100_000)
PARTS: tuple[Part, ...] = (
    *(TextPart(text) for text in TEXTS),
    ThinkingPart("hm"),
    ThinkingPart("", {"signature": "abc", "blocks": [1, {"deep": None}]}),
    ImagePart("image/png", "aGk="),
    ImagePart(url="https://example.com/a.png"),
    ToolCallPart("call_1", "dice.roll", '{"count": 2, '),
    ToolResultPart("call_1", "dice.roll", "[3, 4]"),
    ToolResultPart("call_2", "dice.roll", "no\0", is_error=True, code="tool_failed", data={"a": [1.5, "\0", None]}),
    ToolResultPart(
        "call_3",
        "web-fetch.fetch",
        "page",
        images=(ImagePart("image/png", "aGk="), ImagePart(url="https://example.com/b.png")),
        untrusted=True,
        artifact_id="f00",
        meta=({"kind": "cut", "at": 10}, {}),
    ),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    1e300,
    -0.0,
    [],
    {},
    [[["deep"]]],
    {"role": "user", "parts": []},
    {"": {"\0": "\0"}, "é": 1},
)


class PayloadTests:
    """Messages and JSON, to the last byte."""

    async def test_messages_come_back_as_they_were(self, store: SessionStore) -> None:
        session = await store.create()
        messages = [
            user_message("hi", (ImagePart("image/png", "aGk="),)),
            Message("assistant", PARTS, "model-1", "tool_calls"),
            Message("tool", PARTS[::-1]),
            Message("assistant", ()),
            *(Message("user", (part,)) for part in PARTS),
        ]
        given = await store.append(session.id, [Draft("message", message) for message in messages])
        entries = list(await store.entries(session.id))
        assert entries == list(given)
        assert [entry.payload for entry in entries] == messages
        for entry, message in zip(entries, messages, strict=True):
            assert isinstance(entry.payload, Message)
            assert json.dumps(entry.payload.to_dict()) == json.dumps(message.to_dict())
            assert [type(part) for part in entry.payload.parts] == [type(part) for part in message.parts]
            assert isinstance(entry.payload.parts, tuple)

    async def test_json_of_every_kind_comes_back_as_it_was(self, store: SessionStore) -> None:
        session = await store.create()
        drafts = [Draft(kind, {"value": value, "kind": kind}) for kind in get_args(EntryKind) for value in VALUES]
        await store.append(session.id, drafts)
        entries = await store.entries(session.id)
        assert [entry.kind for entry in entries] == [draft.kind for draft in drafts]
        for entry, draft in zip(entries, drafts, strict=True):
            assert isinstance(entry.payload, dict)
            assert json.dumps(entry.payload) == json.dumps(draft.payload)

    async def test_a_message_may_be_of_any_kind_and_json_may_look_like_one(self, store: SessionStore) -> None:
        session = await store.create()
        drafts = [Draft("custom", user_message("seen")), Draft("message", {"role": "user", "parts": []})]
        await store.append(session.id, drafts)
        entries = await store.entries(session.id)
        assert [(entry.kind, entry.payload) for entry in entries] == [(draft.kind, draft.payload) for draft in drafts]

    async def test_charges_come_back_as_they_were(self, store: SessionStore) -> None:
        session = await store.create()
        charges = (Charge("m\0", Usage(1, 2, 3, 4), 0.25), Charge("ü", None, None))
        [given] = await store.append(session.id, [Draft("message", user_message("x"), charges=charges)])
        [entry] = await store.entries(session.id)
        assert entry.charges == given.charges == charges

    async def test_halves_of_characters_are_made_whole_or_kept(self, store: SessionStore) -> None:
        session = await store.create()
        lone = Message("user", (TextPart("a\ud800b"),))
        given = await store.append(session.id, [Draft("message", lone), Draft("custom", {"\udfff": "\ud83d"})])
        assert list(await store.entries(session.id)) == list(given)
        read = given[0].payload
        assert isinstance(read, Message)
        assert read.text in ("a\ud800b", "a\N{REPLACEMENT CHARACTER}b")
