"""JSON that every parser takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glados.server.wire import to_json


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_json_number_is_null(number: float) -> None:
    assert to_json({"n": number}) == b'{"n":null}'


def test_half_of_a_surrogate_pair_is_written_as_an_escape() -> None:
    assert to_json({"s": "half \ud83d", "n": float("nan")}) == rb'{"s":"half \ud83d","n":null}'


def test_other_text_is_written_as_it_is() -> None:
    assert to_json(["h\u00e9llo \U0001f600\u2028\x00"]).decode() == '["h\u00e9llo \U0001f600\u2028\\u0000"]'


def test_a_value_that_is_no_json_is_written_as_its_text() -> None:
    assert json.loads(to_json({"path": Path("/a"), "error": ValueError("why")})) == {"path": "/a", "error": "why"}
