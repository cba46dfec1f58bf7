"""The ids of sessions that agents work in for a call."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glados.core.child_ids import MAX_CALL, ChildId

MESSAGE = "0123456789abcdef" * 2
SAFE = re.compile(r"[A-Za-z0-9_.-]{1,130}")


@given(st.uuids(), st.text(), st.integers(1, 1000))
def test_what_is_made_is_read_back_as_it_was_meant(message: object, call: str, number: int) -> None:
    id = ChildId.of(str(message).replace("-", ""), call, number)

    assert SAFE.fullmatch(str(id))
    assert ChildId.parse(str(id)) == id


@given(st.from_regex(r"agent-tool-[0-9a-f]{32}-[A-Za-z0-9_.-]{1,20}", fullmatch=True))
def test_what_is_read_is_made_again_as_it_was(text: str) -> None:
    id = ChildId.parse(text)

    assert id is None or str(id) == text


@given(st.text(max_size=100), st.text(max_size=100), st.integers(1, 12), st.integers(1, 12))
def test_two_children_never_share_an_id(one: str, other: str, first: int, second: int) -> None:
    same = str(ChildId.of(MESSAGE, one, first)) == str(ChildId.of(MESSAGE, other, second))

    assert same == ((one, first) == (other, second))


def test_an_id_says_the_message_the_call_and_which_child_it_is() -> None:
    assert str(ChildId.of(MESSAGE, "call_1")) == f"agent-tool-{MESSAGE}-call_1"
    assert str(ChildId.of(MESSAGE, "call_1", 2)) == f"agent-tool-{MESSAGE}-call_1--2"
    assert ChildId.of(MESSAGE, "call_1").next() == ChildId(MESSAGE, "call_1", 2)


@pytest.mark.parametrize("call", ["", "a/b", "a--2", "-a", "a-", "x" * (MAX_CALL + 1), "ä", "\udc00"])
def test_a_call_id_that_no_address_could_carry_is_told_by_a_hash(call: str) -> None:
    assert re.fullmatch(r"h[0-9a-f]{16}", ChildId.of(MESSAGE, call).call)


@pytest.mark.parametrize("text", ["", MESSAGE, f"agent-tool-{MESSAGE}", f"agent-tool-{MESSAGE}-a--1", "agent-tool-x-a"])
def test_other_sessions_are_no_children(text: str) -> None:
    assert ChildId.parse(text) is None
