"""What plugins write into a session's log: entries of types of their own, which the model reads or not."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from glados.core.errors import PluginError, ToolError
from glados.core.fences import Fence
from glados.core.messages import Message, ToolResultPart, user_message, well_formed
from glados.core.sessions import Draft, Entry

_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*")


class SessionEntry(BaseModel):
    """One kind of entry of a plugin: `entry_type` begins with the plugin's id, the fields are its data.

    It is stored, forked and replayed like every other entry. What `shown` gives stands before the model from then on.
    """

    model_config = ConfigDict(frozen=True)

    entry_type: ClassVar[str] = ""

    def shown(self) -> str | None:
        """What the model reads of it; None if it is not for the model."""
        return None


E = TypeVar("E", bound=SessionEntry)


@dataclass(frozen=True, slots=True)
class SessionLog:
    """The log of the session that a call belongs to: what its plugin has written there, and can add."""

    write: Callable[[SessionEntry], Awaitable[Entry]]
    branch: Callable[[], Sequence[Entry]]

    async def append(self, entry: SessionEntry) -> Entry:
        """Write an entry down; it is stored when this returns."""
        return await self.write(entry)

    def entries(self, kind: type[E]) -> list[E]:
        """The entries of one type on the session's branch, in order; those of an older form are left out."""
        return entries_of(kind, self.branch())


def draft_of(entry: SessionEntry, plugin_id: str, run_id: str | None, *, max_chars: int, untrusted: bool) -> Draft:
    """The entry as it is stored; what came of untrusted content says so, and is shown in the delimiter."""
    kind = type(entry).entry_type
    if not _TYPE.fullmatch(kind) or not kind.startswith(f"{plugin_id}."):
        raise PluginError(
            f"{type(entry).__name__}.entry_type is {kind!r}: write it as '{plugin_id}.name', in lower case.",
            entry_type=kind,
        )
    data, text = entry.model_dump_json(), entry.shown()
    size = len(data) + len(text or "")
    if size > max_chars:
        raise ToolError(
            f"An entry of type {kind} has {size} characters, and its tool may write {max_chars}: keep less in it.",
            entry_type=kind,
        )
    payload: dict[str, Any] = {"type": kind, "data": json.loads(data), "text": well_formed(text) if text else None}
    if untrusted:
        payload |= {"tainted": True, "fence": Fence().token}
    return Draft("custom", payload, run_id)


def entries_of(kind: type[E], entries: Iterable[Entry]) -> list[E]:
    """The entries of one type, in order; those of an older form that no longer fits are left out."""
    found: list[E] = []
    for entry in entries:
        payload = entry.payload
        if entry.kind != "custom" or isinstance(payload, Message) or payload.get("type") != kind.entry_type:
            continue
        try:
            found.append(kind.model_validate(payload.get("data")))
        except ValidationError:
            continue
    return found


def shown_message(entry: Entry) -> Message | None:
    """What the model reads of a plugin's entry."""
    payload = entry.payload
    if isinstance(payload, Message) or entry.kind != "custom" or not payload.get("text"):
        return None
    text = str(payload["text"])
    if payload.get("tainted"):
        text = Fence(payload.get("fence")).around(text)
    return user_message(f"Note by {payload.get('type')}:\n{text}")


def arranged(entries: Sequence[Entry]) -> list[tuple[Entry, Message]]:
    """What the model reads of a log: messages, and plugins' notes, which never stand between a call and its result."""
    pairs: list[tuple[Entry, Message]] = []
    held: list[tuple[Entry, Message]] = []
    waiting: set[str] = set()
    noted = any(entry.kind == "custom" for entry in entries)
    for entry in entries:
        message = entry.payload
        if isinstance(message, Message):
            pairs.append((entry, message))
            if noted:
                waiting.update(call.id for call in message.calls)
                waiting.difference_update(part.call_id for part in message.parts if isinstance(part, ToolResultPart))
        elif noted and (note := shown_message(entry)) is not None:
            held.append((entry, note))
        if held and not waiting:
            pairs += held
            held.clear()
    return pairs + held
