"""Rows of the tables as sessions and entries, and entries as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from glados.conversations.payloads import Payload, decoded_extra, decoded_messages, encoded, encoded_extra
from glados.core.messages import Message, Usage, well_formed
from glados.core.sessions import Charge, Draft, Entry, EntryKind, Session, new_id

AT_ONCE = 500  # entries that are decoded in one call, which no other thread interrupts

SESSION_COLUMNS = (
    "id, title, created_at, updated_at, parent_id, principal, seq, head, tags,"
    " input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, unknown_costs, forked_from, tainted"
)
ENTRY_COLUMNS = "seq, id, parent_id, kind, payload, created_at, run_id, principal, extra"
INSERT_ENTRY = f"INSERT INTO conversations_entries (session, {ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# What a kind is marked with when its payload is not the usual one: a message says "message", and nothing else does.
_UNUSUAL = "*"
_NO_MESSAGE = "message*"
_NOTHING: tuple[None, tuple[Charge, ...]] = (None, ())

EntryRow = tuple[int, str, str | None, str, str, str, str | None, str, str | None]


def storable(text: str) -> str:
    """A text that both databases can hold as it is."""
    return well_formed(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def is_storable(text: str) -> bool:
    """Whether an id can be in a table at all."""
    return storable(text) == text


def session_of(row: Sequence[Any]) -> Session:
    """The session of a row of `SESSION_COLUMNS`."""
    id, title, created_at, updated_at, parent_id, principal, seq, head, tags, *sums, forked_from, tainted = row
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, unknown = sums
    return Session(
        id,
        title,
        created_at,
        updated_at,
        parent_id,
        principal,
        seq,
        head,
        tuple(json.loads(tags)),
        Usage(input_tokens, output_tokens, cached_tokens, reasoning_tokens),
        None if unknown else cost,
        forked_from,
        bool(tainted),
    )


class EncodedDraft:
    """A draft with its id and its JSON, made before its turn to be stored comes."""

    __slots__ = ("_texts", "charges", "id", "kind", "payload", "principal", "run_id")

    def __init__(self, draft: Draft) -> None:
        self.id = draft.id or new_id()
        self.kind: EntryKind = draft.kind
        self.payload, text = encoded(draft.payload)
        self.run_id = draft.run_id
        self.principal = draft.principal
        self.charges = draft.charges
        self._texts = (_marked(draft.kind, self.payload), text, encoded_extra(None, draft.charges))

    def row(self, session: int, seq: int, parent_id: str | None, now: str) -> tuple[object, ...]:
        """The values of its row, now that its place is known."""
        kind, text, extra = self._texts
        return (session, seq, self.id, parent_id, kind, text, now, self.run_id, self.principal, extra)


def row_of(session: int, entry: Entry) -> tuple[object, ...]:
    """The values of the row of an entry that is stored as it is."""
    payload, text = encoded(entry.payload)
    return (
        session,
        entry.seq,
        entry.id,
        entry.parent_id,
        _marked(entry.kind, payload),
        text,
        entry.created_at,
        entry.run_id,
        entry.principal,
        encoded_extra(entry.origin_id, entry.charges),
    )


def entries_of(session_id: str, rows: Sequence[EntryRow]) -> list[Entry]:
    """The entries of rows of `ENTRY_COLUMNS`; the same values as the dataclass makes, without its slow `__init__`."""
    entries: list[Entry] = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        for row, payload in zip(some, _payloads(some), strict=True):
            seq, id, parent_id, kind, _, created_at, run_id, principal, extra = row
            origin_id, charges = decoded_extra(extra) if extra is not None else _NOTHING
            entry = _new(Entry)
            _set_id(entry, id)
            _set_session_id(entry, session_id)
            _set_seq(entry, seq)
            _set_parent_id(entry, parent_id)
            _set_kind(entry, kind if kind[-1] != _UNUSUAL else kind[:-1])
            _set_payload(entry, payload)
            _set_created_at(entry, created_at)
            _set_run_id(entry, run_id)
            _set_principal(entry, principal)
            _set_origin_id(entry, origin_id)
            _set_charges(entry, charges)
            entries.append(entry)
    return entries


def _marked(kind: str, payload: Payload) -> str:
    return kind if isinstance(payload, Message) == (kind == "message") else kind + _UNUSUAL


def _payloads(rows: Sequence[EntryRow]) -> Iterator[Payload]:
    are_messages = [(row[3] == "message") != (row[3][-1] == _UNUSUAL and row[3] != _NO_MESSAGE) for row in rows]
    messages = iter(decoded_messages([row[4] for row, is_one in zip(rows, are_messages, strict=True) if is_one]))
    for row, is_one in zip(rows, are_messages, strict=True):
        yield next(messages) if is_one else json.loads(row[4])


_new = object.__new__
(
    _set_id,
    _set_session_id,
    _set_seq,
    _set_parent_id,
    _set_kind,
    _set_payload,
    _set_created_at,
    _set_run_id,
    _set_principal,
    _set_origin_id,
    _set_charges,
) = (getattr(Entry, field.name).__set__ for field in fields(Entry))
