"""Whatever is accepted as a URL names the host that a browser would reach.

The cases are those of the web platform tests: set GLADOS_WPT_URLTESTDATA to the path of their `urltestdata.json`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from glados.web_fetch.errors import InvalidUrl
from glados.web_fetch.urls import DEFAULT_PORTS, Url, join_url, parse_url

VARIABLE = "GLADOS_WPT_URLTESTDATA"
ORDINARY = re.compile(r"https?://[a-z0-9]([a-z0-9.-]*[a-z0-9])?[/?#]")


def wpt_cases() -> list[dict[str, Any]]:
    path = os.environ.get(VARIABLE)
    if not path:
        pytest.skip(f"set {VARIABLE} to the path of urltestdata.json of the web platform tests")
    cases = json.loads(Path(path).read_text(encoding="utf-8"))
    return [case for case in cases if isinstance(case, dict)]


def read(text: str, base: str | None) -> Url | None:
    try:
        return parse_url(text) if base is None else join_url(parse_url(base), text)
    except InvalidUrl:
        return None


def differences(url: Url, case: dict[str, Any]) -> list[str]:
    if case.get("failure"):
        return ["a browser refuses it"]
    found = []
    if case["protocol"] != f"{url.scheme}:":
        found.append(f"scheme {case['protocol']!r}")
    if case["hostname"] != url.host.name:
        found.append(f"host {case['hostname']!r}")
    if int(case["port"] or DEFAULT_PORTS.get(url.scheme, 0)) != url.port:
        found.append(f"port {case['port']!r}")
    if case["username"] or case["password"]:
        found.append("credentials")
    return found


def test_what_is_accepted_names_the_host_that_a_browser_would_reach() -> None:
    accepted, wrong = 0, list[str]()
    for case in wpt_cases():
        url = read(case["input"], case.get("base"))
        if url is None:
            continue
        accepted += 1
        wrong += [f"{case['input']!r} as {url}: {difference}" for difference in differences(url, case)]
    assert wrong == []
    assert accepted > 40, "so few that the comparison says nothing"


def test_ordinary_addresses_are_not_refused() -> None:
    ordinary = [
        case["href"]
        for case in wpt_cases()
        if case.get("base") is None and case["input"] == case.get("href") and ORDINARY.match(case["input"])
    ]
    assert [href for href in ordinary if read(href, None) is None] == []
    assert len(ordinary) > 20, "so few that the comparison says nothing"
