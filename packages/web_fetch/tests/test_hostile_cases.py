"""No hostile case without a test: kinds that are data run case by case, other tests name the cases that they test."""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
BY_ARGUMENT = {"url", "ip", "rule", "dns"}


def test_every_case_has_a_test() -> None:
    cases = json.loads((HERE / "hostile_cases.json").read_text())
    sources = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    for kind in BY_ARGUMENT:
        assert f"{kind}_case: " in sources
    named = set(re.findall(r'"((?:RED|RSP)-\d{3})"', sources))
    assert {case["id"] for case in cases if case["kind"] not in BY_ARGUMENT} - named == set()
    assert {case["kind"] for case in cases} == {*BY_ARGUMENT, "redirect", "response"}
