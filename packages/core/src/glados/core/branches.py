"""The tree in a session's log: the way from its first entry to one of its leaves, and a copy of such a way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from glados.core.errors import InvalidInput
from glados.core.messages import Message
from glados.core.sessions import Entry, Session, new_id


def path(entries: Sequence[Entry], head: str | None) -> Sequence[Entry]:
    """The entries from the first to the head, out of a log in the order of its numbers."""
    if head is None:
        return ()
    if entries and entries[-1].id == head and _is_line(entries):
        return entries
    by_id = {entry.id: entry for entry in entries}
    found: list[Entry] = []
    entry = by_id.get(head)
    while entry is not None:
        found.append(entry)
        entry = by_id.get(entry.parent_id) if entry.parent_id is not None else None
    return found[::-1]


def copied(entries: Sequence[Entry], session_id: str) -> list[Entry]:
    """A branch as the log of another session: new ids and numbers, and no charges, because copying cost nothing."""
    ids = {entry.id: new_id() for entry in entries}
    return [
        replace(
            entry,
            id=ids[entry.id],
            session_id=session_id,
            seq=seq,
            parent_id=ids.get(entry.parent_id) if entry.parent_id is not None else None,
            payload=moved(entry, ids),
            origin_id=entry.origin_id or entry.id,
            charges=(),
        )
        for seq, entry in enumerate(entries, 1)
    ]


def check_log(session: Session, entries: Sequence[Entry]) -> None:
    """Refuse a log that no store could have written: numbers with gaps, a head or a parent that is not there."""
    seen: set[str] = set()
    for seq, entry in enumerate(entries, 1):
        if entry.seq != seq or entry.id in seen or (entry.parent_id is not None and entry.parent_id not in seen):
            raise InvalidInput(
                f"Entry {seq} of session {session.id!r} does not follow those before it: export the session again.",
                session_id=session.id,
            )
        seen.add(entry.id)
    if session.seq != len(entries) or (session.head is not None and session.head not in seen):
        raise InvalidInput(
            f"The entries of session {session.id!r} are not all of its entries: export it again.",
            session_id=session.id,
        )


def _is_line(entries: Sequence[Entry]) -> bool:
    """Whether each entry follows the one before it, as in a session that never branched."""
    before: str | None = None
    for entry in entries:
        if entry.parent_id != before:
            return False
        before = entry.id
    return True


def moved(entry: Entry, ids: Mapping[str, str]) -> Message | dict[str, Any]:
    """A compaction names the first entry that it left: in the copy, that one's copy."""
    payload = entry.payload
    if entry.kind == "compaction" and isinstance(payload, dict):
        kept = payload.get("first_kept_id")
        return {**payload, "first_kept_id": ids.get(kept, kept) if isinstance(kept, str) else kept}
    return payload
