"""Tool ids and their names on the wire."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glados.core.models.tool_names import ToolNames, wire_name

IDS = st.text(alphabet="ab._-", max_size=12) | st.text(max_size=90)


def test_a_dot_becomes_two_underscores() -> None:
    assert wire_name("web-fetch.fetch") == "web-fetch__fetch"


@given(IDS)
def test_every_name_is_one_that_model_apis_take(tool_id: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_name(tool_id))


@given(IDS, IDS)
def test_two_ids_never_share_a_name(one: str, other: str) -> None:
    assert (wire_name(one) == wire_name(other)) == (one == other)


@given(st.lists(IDS, unique=True))
def test_every_name_leads_back_to_its_id(tool_ids: list[str]) -> None:
    names = ToolNames(tool_ids)

    assert [names.tool_id(wire_name(tool_id)) for tool_id in tool_ids] == tool_ids


def test_a_name_that_was_never_given_out_stays_as_it_is() -> None:
    names = ToolNames(["dice.roll"])

    assert names.tool_id("dice__throw") == "dice__throw"
    assert names.tool_id("dice.roll") == "dice.roll"


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("Roll with dice.roll.", "Roll with dice__roll."),
        ("dice.roll, `dice.roll` (dice.roll)", "dice__roll, `dice__roll` (dice__roll)"),
        ("dice.roll-all is longer", "dice__roll-all is longer"),
        ("my-dice.roll and dice.rolls and dice.roll.x", "my-dice.roll and dice.rolls and dice.roll.x"),
        ("see https://dice.roll/", "see https://dice.roll/"),
        ("dicexroll", "dicexroll"),
    ],
)
def test_a_text_names_tools_as_the_model_knows_them(text: str, rewritten: str) -> None:
    assert ToolNames(["dice.roll", "dice.roll-all"]).rewrite(text) == rewritten


def test_a_text_stays_as_it_is_without_tools() -> None:
    assert ToolNames([]).rewrite("dice.roll") == "dice.roll"
