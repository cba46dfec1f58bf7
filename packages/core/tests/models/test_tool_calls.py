"""Tool calls, however a service streams them."""

from __future__ import annotations

from typing import Any

import pytest

from glados.core.messages import ToolCallPart
from glados.core.models.tool_calls import CallIds, ToolCalls
from glados.core.models.tool_names import ToolNames

NAMES = ToolNames(["dice.roll", "dice.toss"])


def piece(
    arguments: Any = None, *, index: int | None = None, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    """What a service sends of a call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = (("index", index), ("id", id), ("function", function))
    return {key: value for key, value in given if value is not None}


def told(*chunks: list[dict[str, Any]], taken_ids: frozenset[str] = frozenset()) -> list[tuple[str, str, str]]:
    calls = ToolCalls(NAMES, CallIds(taken_ids))
    parts = [part for chunk in chunks for part in calls.take(chunk)]
    parts += calls.finish(cut=False)
    return [(part.id, part.tool_id, part.arguments) for part in parts]


def test_a_call_is_told_when_the_next_one_begins() -> None:
    calls = ToolCalls(NAMES, CallIds(frozenset()))
    first = [piece('{"count":', index=0, id="a", name="dice__roll")]
    rest = [piece(" 1}", index=0)]
    second = [piece("{}", index=1, id="b", name="dice__roll")]

    assert list(calls.take(first)) == []
    assert list(calls.take(rest)) == []
    assert list(calls.take(second)) == [ToolCallPart("a", "dice.roll", '{"count": 1}')]
    assert list(calls.finish(cut=False)) == [ToolCallPart("b", "dice.roll", "{}")]


def test_interleaved_calls_are_told_whole_and_in_order() -> None:
    heads = [piece("", index=0, id="a", name="dice__roll"), piece("", index=1, id="b", name="dice__toss")]
    starts = [piece('{"n"', index=0), piece('{"m"', index=1)]
    ends = [piece(":2}", index=1), piece(":1}", index=0)]

    assert told(heads, starts, ends) == [("a", "dice.roll", '{"n":1}'), ("b", "dice.toss", '{"m":2}')]


@pytest.mark.parametrize("arguments", ["", "  ", None, {}])
def test_no_arguments_are_an_empty_object(arguments: Any) -> None:
    assert told([piece(arguments, index=0, id="a", name="dice__roll")]) == [("a", "dice.roll", "{}")]


def test_arguments_may_be_an_object() -> None:
    assert told([piece({"count": 2}, id="a", name="dice__roll")]) == [("a", "dice.roll", '{"count": 2}')]


def test_calls_without_an_index_in_one_chunk_are_different_calls() -> None:
    chunk = [piece("{}", id="a", name="dice__roll"), piece("{}", id="b", name="dice__roll")]

    assert [id for id, _, _ in told(chunk)] == ["a", "b"]


def test_calls_without_an_index_in_different_chunks_are_told_apart_by_their_ids() -> None:
    first, rest = [piece('{"n"', id="a", name="dice__roll")], [piece(":1}")]
    second = [piece("{}", id="b", name="dice__roll")]

    assert told(first, rest, second) == [("a", "dice.roll", '{"n":1}'), ("b", "dice.roll", "{}")]


def test_whole_calls_with_the_same_index_and_no_id_are_different_calls() -> None:
    calls = told([piece('{"n":1}', index=0, name="dice__roll")], [piece('{"n":2}', index=0, name="dice__roll")])

    assert [arguments for _, _, arguments in calls] == ['{"n":1}', '{"n":2}']
    assert len({id for id, _, _ in calls}) == 2


def test_an_id_and_a_name_may_be_repeated_in_every_chunk() -> None:
    chunks = [[piece(text, index=0, id="a", name="dice__roll")] for text in ('{"n"', ":1", "}")]

    assert told(*chunks) == [("a", "dice.roll", '{"n":1}')]


def test_missing_and_duplicated_ids_are_made_unique() -> None:
    heads = [piece("{}", index=index, id=id, name="dice__roll") for index, id in enumerate(["a", "a", None, "", "old"])]
    ids = [id for id, _, _ in told(heads, taken_ids=frozenset({"old"}))]

    assert ids[0] == "a"
    assert len({*ids, "old"}) == 6
    assert all(ids)


def test_an_unknown_name_stays_as_it_is() -> None:
    assert told([piece("{}", index=0, id="a", name="nobody__knows")]) == [("a", "nobody__knows", "{}")]


def test_malformed_arguments_are_told_as_they_are() -> None:
    assert told([piece('{"n":', index=0, id="a", name="dice__roll")]) == [("a", "dice.roll", '{"n":')]


@pytest.mark.parametrize("arguments", ['{"n":', ""])
def test_a_call_that_was_cut_short_is_no_call(arguments: str) -> None:
    calls = ToolCalls(NAMES, CallIds(frozenset()))
    whole, cut = piece("{}", index=0, id="a", name="dice__roll"), piece(arguments, index=1, id="b", name="dice__roll")
    parts = [*calls.take([whole]), *calls.take([cut]), *calls.finish(cut=True)]

    assert [part.id for part in parts] == ["a"]
