"""Tool calls, however a service of the responses API streams them."""

from __future__ import annotations

from typing import Any

import pytest

from glados.core.messages import ToolCallPart
from glados.core.models.responses_calls import ResponsesCalls
from glados.core.models.tool_calls import CallIds
from glados.core.models.tool_names import ToolNames

NAMES = ToolNames(["dice.roll", "dice.toss"])


def calls(*taken: str) -> ResponsesCalls:
    return ResponsesCalls(NAMES, CallIds(frozenset(taken)))


def item(id: str | None = None, call_id: str | None = None, arguments: Any = "", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": id, "call_id": call_id, "name": "dice__roll", "arguments": arguments, **more}


def piece(index: int | None, text: str, item_id: str | None = None) -> dict[str, Any]:
    return {"output_index": index, "item_id": item_id, "delta": text}


def told(parts: list[ToolCallPart]) -> list[tuple[str, str]]:
    return [(part.id, part.arguments) for part in parts]


def test_interleaved_calls_are_told_whole() -> None:
    found = calls()
    found.begin(0, item("f0", "a"))
    found.begin(1, item("f1", "b"))
    for index, text in ((0, '{"n"'), (1, '{"m"'), (1, ":2}"), (0, ":1}")):
        found.more(piece(index, text, f"f{index}"))
    parts = [*found.end(1, item("f1", "b")), *found.end(0, item("f0", "a")), *found.finish(cut=False)]

    assert told(parts) == [("b", '{"m":2}'), ("a", '{"n":1}')]


def test_calls_that_all_have_the_same_index_are_told_apart() -> None:
    found, parts = calls(), list[ToolCallPart]()
    for id in "ab":
        found.begin(0, item(f"f{id}", id))
        found.more(piece(0, f'{{"n":"{id}"}}', f"f{id}"))
        parts += found.end(0, item(f"f{id}", id))

    assert told(parts) == [("a", '{"n":"a"}'), ("b", '{"n":"b"}')]


def test_an_item_that_has_another_id_in_every_event_is_one_call() -> None:
    found = calls()
    found.begin(0, item("one", "a"))
    found.more(piece(0, '{"n":', "two"))
    found.more(piece(0, "1}", "three"))
    parts = [*found.end(0, item("four", "a")), *found.settle([item("five", "a")]), *found.finish(cut=False)]

    assert told(parts) == [("a", '{"n":1}')]


def test_missing_and_duplicated_ids_are_made_unique() -> None:
    found, parts = calls("old"), list[ToolCallPart]()
    for index, id in enumerate(["a", "a", None, "", "old"]):
        found.begin(index, item("same", id))
        parts += found.end(index, item("same", id, "{}"))
    parts += [*found.settle([item("same", "a")] * 5), *found.finish(cut=False)]

    assert len(parts) == 5
    assert parts[0].id == "a"
    assert len({*(part.id for part in parts), "old"}) == 6


def test_a_call_without_any_id_or_index_is_a_call_each_time_it_begins() -> None:
    found, parts = calls(), list[ToolCallPart]()
    for text in ('{"n":1}', '{"n":2}'):
        found.begin(None, item())
        parts += found.end(None, item(arguments=text))

    assert [part.arguments for part in parts] == ['{"n":1}', '{"n":2}']


def test_arguments_are_told_once_whether_they_are_written_or_done_first() -> None:
    found = calls()
    found.begin(0, item("f", "a"))
    parts = [*found.written({"output_index": 0, "item_id": "f", "arguments": '{"n": 1}'})]
    parts += [*found.end(0, item("f", "a", '{"n": 1}')), *found.finish(cut=False)]

    assert told(parts) == [("a", '{"n": 1}')]


def test_arguments_that_come_before_the_name_wait_for_it() -> None:
    found = calls()

    assert list(found.written({"output_index": 0, "item_id": "f", "arguments": "{}"})) == []
    assert told(list(found.end(0, item("f", "a")))) == [("a", "{}")]


@pytest.mark.parametrize(("arguments", "text"), [({"n": 1}, '{"n": 1}'), (None, "{}"), (" ", "{}"), ("{", "{")])
def test_arguments_of_any_kind_are_told(arguments: Any, text: str) -> None:
    found = calls()
    parts = [*found.end(0, item("f", "a", arguments, status="completed")), *found.finish(cut=False)]

    assert told(parts) == [("a", text)]


@pytest.mark.parametrize("arguments", ['{"n":', ""])
def test_a_call_that_was_cut_short_is_no_call(arguments: str) -> None:
    found = calls()
    found.begin(0, item("f", "a"))
    parts = [*found.end(0, item("f", "a", arguments, status="incomplete")), *found.finish(cut=True)]

    assert parts == []
    assert not found
