"""Tool calls put together from the pieces in which chat services stream them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from glados.core.messages import ToolCallPart
from glados.core.models.encoded import is_json_object
from glados.core.models.tool_names import ToolNames


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str = ""

    @property
    def complete(self) -> bool:
        return bool(self.name) and is_json_object(self.arguments)


class CallIds:
    """The ids of one answer's calls: an id that is missing or was used before is replaced by a new one."""

    def __init__(self, taken: Set[str]) -> None:
        self._taken = taken
        self._own: set[str] = set()

    def unique(self, id: str) -> str:
        """The id, or another if it is none or not the only one."""
        if not id or id in self._own or id in self._taken:
            id = f"call_{uuid4().hex}"
        self._own.add(id)
        return id


class ToolCalls:
    """The calls of one answer, in their order; each is told once, as soon as nothing can be added to it."""

    def __init__(self, names: ToolNames, ids: CallIds) -> None:
        self._names = names
        self._ids = ids
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._told = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, pieces: list[dict[str, Any]]) -> Iterator[ToolCallPart]:
        """Add the pieces of one chunk and tell the calls that a later one has closed."""
        for position, piece in enumerate(pieces):
            index = piece.get("index")
            self._add(piece, index if isinstance(index, int) else position)
            while self._told < len(self._calls) - 1 and self._calls[self._told].complete:
                yield self._tell()

    def finish(self, *, cut: bool) -> Iterator[ToolCallPart]:
        """Tell the rest; of an answer that was cut short, a call that is not complete is no call."""
        if cut:
            complete = [call for call in self._calls[self._told :] if call.complete]
            self._calls[self._told :] = complete
        while self._told < len(self._calls):
            yield self._tell()

    def _add(self, piece: dict[str, Any], index: int) -> None:
        function: dict[str, Any] = piece.get("function") or {}
        id, name, arguments = piece.get("id") or "", function.get("name") or "", text_of(function.get("arguments"))
        call = self._by_index.get(index)
        if call is None or _is_another(call, id, name, arguments):
            call = self._by_index[index] = _Call(id, name)
            self._calls.append(call)
        call.id = call.id or id
        call.name = call.name or name
        call.arguments += arguments

    def _tell(self) -> ToolCallPart:
        call = self._calls[self._told]
        self._told += 1
        return ToolCallPart(self._ids.unique(call.id), self._names.tool_id(call.name), call.arguments.strip() or "{}")


def _is_another(call: _Call, id: str, name: str, arguments: str) -> bool:
    """Whether a piece under the index of a call begins another one: some services give every call the same index."""
    if id and call.id and id != call.id:
        return True
    if not name or not call.name:
        return False
    return name != call.name or bool(arguments.strip() and call.complete)


def text_of(arguments: Any) -> str:
    """Arguments as JSON text; some services send them as an object."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
