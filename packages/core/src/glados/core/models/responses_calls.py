"""Tool calls put together from the events of the responses API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from glados.core.messages import ToolCallPart
from glados.core.models.encoded import is_json_object
from glados.core.models.tool_calls import CallIds, text_of
from glados.core.models.tool_names import ToolNames


@dataclass(slots=True)
class _Call:
    item_id: str
    call_id: str
    name: str
    arguments: str = ""
    told: bool = False

    def may_be(self, item: dict[str, Any]) -> bool:
        """Whether an item with the same index is this call."""
        if self.call_id and item.get("call_id"):
            return item["call_id"] == self.call_id
        return not (self.item_id and item.get("id")) or item["id"] == self.item_id


class ResponsesCalls:
    """The calls of one answer; each is told once, as soon as it is complete."""

    def __init__(self, names: ToolNames, ids: CallIds) -> None:
        self._names = names
        self._ids = ids
        self._calls: list[_Call] = []
        self._by_index: dict[Any, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def begin(self, index: Any, item: dict[str, Any]) -> None:
        """A call was announced."""
        call = self._by_index.get(index)
        if call is None or call.told or not call.may_be(item):
            self._add(index, item)

    def more(self, event: dict[str, Any]) -> None:
        """A piece of a call's arguments."""
        self._piece(event).arguments += text_of(event.get("delta"))

    def written(self, event: dict[str, Any]) -> Iterator[ToolCallPart]:
        """The arguments of a call are complete; one whose name is not known yet waits for the rest of it."""
        call = self._piece(event)
        call.arguments = text_of(event.get("arguments")) or call.arguments
        if call.name and is_json_object(call.arguments):
            yield from self._tell(call)

    def end(self, index: Any, item: dict[str, Any]) -> Iterator[ToolCallPart]:
        """A call as the service has it in the end."""
        yield from self._complete(self._find(index, item) or self._add(index, item), item)

    def settle(self, items: list[dict[str, Any]]) -> Iterator[ToolCallPart]:
        """All calls as the end of the answer repeats them; those that were never told on the way are told now."""
        for number, item in enumerate(items):
            call = self._calls[number] if number < len(self._calls) else self._add(None, item)
            yield from self._complete(call, item)

    def finish(self, *, cut: bool) -> Iterator[ToolCallPart]:
        """Tell the rest; of an answer that was cut short, a call that is not complete is no call."""
        for call in list(self._calls):
            if cut and not call.told and not (call.name and is_json_object(call.arguments)):
                self._calls.remove(call)
            else:
                yield from self._tell(call)

    def _complete(self, call: _Call, item: dict[str, Any]) -> Iterator[ToolCallPart]:
        """Take over what the item says; a call that is not whole waits, because it may turn out to be cut."""
        if call.told:
            return
        call.call_id = item.get("call_id") or call.call_id
        call.name = item.get("name") or call.name
        call.arguments = text_of(item.get("arguments")) or call.arguments
        if is_json_object(call.arguments) or (not call.arguments.strip() and item.get("status") == "completed"):
            yield from self._tell(call)

    def _find(self, index: Any, item: dict[str, Any]) -> _Call | None:
        """The call that an item is; some services give every item the same index."""
        call = self._by_index.get(index)
        if call is not None and call.may_be(item):
            return call
        item_id = item.get("id")
        return next((call for call in reversed(self._calls) if item_id and call.item_id == item_id), None)

    def _add(self, index: Any, item: dict[str, Any]) -> _Call:
        call = _Call(item.get("id") or "", item.get("call_id") or "", item.get("name") or "")
        self._calls.append(call)
        self._by_index[index] = call
        return call

    def _piece(self, event: dict[str, Any]) -> _Call:
        """The call that a piece belongs to; some services give an item another id in every event."""
        index, item = event.get("output_index"), {"id": event.get("item_id"), "name": event.get("name")}
        return self._find(index, item) or self._by_index.get(index) or self._add(index, item)

    def _tell(self, call: _Call) -> Iterator[ToolCallPart]:
        if not call.told:
            call.told = True
            arguments = call.arguments.strip() or "{}"
            yield ToolCallPart(self._ids.unique(call.call_id), self._names.tool_id(call.name), arguments)
