"""Sessions as JSON lines: one line for a session, one for each of its entries, then the sessions below it alike."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core

from glados.core.messages import well_formed
from glados.core.sessions import Entry, Session, SessionStore

VERSION = 1
PAGE = 500  # entries that are read at a time
# Sums are counted again from the charges, and what is imported is tainted whatever it says.
_LEFT_OUT = {"usage", "cost", "tainted"}


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """A session with its whole log, all branches together."""

    session: Session
    entries: Sequence[Entry]


def session_line(session: Session, parent_id: str | None) -> str:
    """The first line of a session; `parent_id` is a session before it, because one that is not there says nothing."""
    told = {name: value for name, value in session.to_dict().items() if name not in _LEFT_OUT}
    return _line({"type": "session", "version": VERSION, **told, "parent_id": parent_id})


def entry_line(entry: Entry) -> str:
    """The line of an entry."""
    return _line({"type": "entry", **entry.to_dict()})


async def json_lines(store: SessionStore, session: Session) -> AsyncIterator[str]:
    """A session as it was when it was read, and all below it, each behind its parent; every line ends with a break."""
    waiting: list[tuple[Session, str | None]] = [(session, None)]
    while waiting:
        current, parent_id = waiting.pop()
        yield session_line(current, parent_id)
        async for entry in entries_of(store, current):
            yield entry_line(entry)
        children = await store.children(current.id)
        waiting += [(child, current.id) for child in reversed(children)]


async def entries_of(store: SessionStore, session: Session) -> AsyncIterator[Entry]:
    """The log of a session up to its `seq`, page by page: what is appended meanwhile is not of that session."""
    seq = 0
    while seq < session.seq:
        page = await store.entries(session.id, after=seq, limit=min(PAGE, session.seq - seq))
        if not page:
            return
        for entry in page:
            yield entry
        seq = page[-1].seq


def _line(value: dict[str, Any]) -> str:
    """One line of JSON that every parser takes: no NaN, no half of a surrogate pair."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null", fallback=str).decode() + "\n"
    except ValueError:
        plain = pydantic_core.to_jsonable_python(value, inf_nan_mode="null", fallback=str)
        return well_formed(json.dumps(plain, ensure_ascii=False, separators=(",", ":"))) + "\n"
