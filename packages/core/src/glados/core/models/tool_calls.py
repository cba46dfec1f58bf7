"""Tool calls put together from the pieces in which services stream them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from glados.core.messages import ToolCallPart
from glados.core.models.chat_request import is_json_object
from glados.core.models.tool_names import ToolNames


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str = ""

    @property
    def complete(self) -> bool:
        return bool(self.name) and is_json_object(self.arguments)


class ToolCalls:
    """The calls of one answer, in their order; each is told once, as soon as nothing can be added to it."""

    def __init__(self, names: ToolNames, taken_ids: Set[str]) -> None:
        self._names = names
        self._taken_ids = taken_ids
        self._own_ids: set[str] = set()
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
        id, name, arguments = piece.get("id") or "", function.get("name") or "", _text(function.get("arguments"))
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
        id = call.id
        if not id or id in self._own_ids or id in self._taken_ids:
            id = f"call_{uuid4().hex}"
        self._own_ids.add(id)
        return ToolCallPart(id, self._names.tool_id(call.name), call.arguments.strip() or "{}")


def _is_another(call: _Call, id: str, name: str, arguments: str) -> bool:
    """Whether a piece under the index of a call begins another one: some services give every call the same index."""
    if id and call.id and id != call.id:
        return True
    if not name or not call.name:
        return False
    return name != call.name or bool(arguments.strip() and call.complete)


def _text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
