"""What is wrong with an import is told with its line, and nothing wrong comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from glados.core import RequestError, imports
from glados.core.imports import LogReader

TIME = "2026-02-03T04:05:06.789+00:00"
SESSION: dict[str, Any] = {
    "type": "session",
    "version": 1,
    "id": "s1",
    "title": "Cake",
    "created_at": TIME,
    "updated_at": TIME,
    "parent_id": None,
    "principal": "local",
    "seq": 2,
    "head": "e2",
    "tags": ["a"],
    "forked_from": None,
}
FIRST: dict[str, Any] = {
    "type": "entry",
    "id": "e1",
    "session_id": "s1",
    "seq": 1,
    "parent_id": None,
    "kind": "message",
    "payload": {"role": "user", "parts": [{"type": "text", "text": "Bake"}]},
    "created_at": TIME,
    "run_id": "r1",
    "principal": "local",
}
SECOND: dict[str, Any] = {**FIRST, "id": "e2", "seq": 2, "parent_id": "e1", "kind": "run_end", "payload": {}}


def lines(*values: object) -> list[bytes]:
    return [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]


def message(*parts: object, role: str = "user") -> dict[str, Any]:
    return {**FIRST, "payload": {"role": role, "parts": list(parts)}}


def result(**fields: Any) -> dict[str, Any]:
    made = {"type": "tool_result", "call_id": "c", "tool_id": "t.t", "text": "", "is_error": False, "code": None}
    return {**made, "data": None, **fields}


def charge(**fields: Any) -> dict[str, Any]:
    return {**FIRST, "charges": [{"model": "m", "usage": None, "cost": 1, **fields}]}


def test_a_session_comes_in_with_its_entries_and_as_from_outside() -> None:
    [log] = LogReader().read(lines(SESSION, FIRST, SECOND, b"", b" \r\n"))

    assert (log.session.id, log.session.title, log.session.head, log.session.tags) == ("s1", "Cake", "e2", ("a",))
    assert log.session.tainted
    assert [(entry.id, entry.seq, entry.parent_id) for entry in log.entries] == [("e1", 1, None), ("e2", 2, "e1")]


def test_a_file_of_another_system_begins_with_a_mark_and_ends_lines_otherwise() -> None:
    first, *rest = lines({**SESSION, "seq": 0, "head": None}, {**SESSION, "id": "s2", "seq": 0, "head": None})
    assert len(LogReader().read([b"\xef\xbb\xbf" + first + b"\r\n", *rest])) == 2


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (b"{", "Line 2 .*Expecting.* at column"),
        (b"[]", "Line 2 .*no JSON object"),
        (b'{"type": "entry", "type": "entry"}', "Line 2 .*'type' stands twice"),
        (rb'{"type": "\ud800"}', "Line 2 .*surrogate"),
        (b"\xff", "Line 2 .*UTF-8"),
        (b"[" * 100_000, "Line 2 .*nested"),
        ({"type": "picture"}, "Line 2 .*'picture'.*'session' and 'entry'"),
        ({**FIRST, "seq": 2}, "Line 2 .*its seq is 2, but 1 comes next"),
        ({**FIRST, "seq": True}, "Line 2 .*seq is True: .*integer"),
        ({**FIRST, "parent_id": "e9"}, "Line 2 .*parent_id is 'e9', and no such entry"),
        ({**FIRST, "parent_id": "e1"}, "Line 2 .*parent_id is 'e1'"),
        ({**FIRST, "session_id": "s2"}, "Line 2 .*session_id is 's2'"),
        ({**FIRST, "kind": "poem"}, "Line 2 .*kind is 'poem'"),
        ({**FIRST, "id": "e 1"}, "Line 2 .*id is 'e 1'"),
        ({**FIRST, "id": "e" * 129}, "Line 2 .*id is 'eee"),
        ({**FIRST, "created_at": "2026-02-30T04:05:06.789+00:00"}, "Line 2 .*created_at"),
        ({**FIRST, "created_at": "yesterday"}, "Line 2 .*created_at is 'yesterday'"),
        ({**FIRST, "principal": "\0"}, "Line 2 .*principal is"),
        ({**FIRST, "colour": "red"}, "Line 2 .*colour is 'red'"),
        ({**FIRST, "payload": "text"}, "Line 2 .*payload is 'text'"),
        ({**FIRST, "payload": {}}, "Line 2 .*payload"),
        (message({"type": "text", "text": 1}), "Line 2 .*payload.user.parts.0.text.text is 1"),
        (message({"type": "tool_call", "id": "c", "tool_id": "t", "arguments": ""}), "Line 2 .*tool_call"),
        (message({"type": "image"}), "Line 2 .*picture needs"),
        (message(result(), role="assistant"), "Line 2 .*tool_result"),
        (message(result(meta=[{}]), role="tool"), "Line 2 .*parts.0.meta.0.type"),
        (message(result(untrusted="no"), role="tool"), "Line 2 .*untrusted is 'no'"),
        (message(role="system"), "Line 2 .*system"),
        ({**FIRST, "kind": "compaction", "payload": {"first_kept_id": "e1"}}, "Line 2 .*payload.summary"),
        (
            {**FIRST, "kind": "compaction", "payload": {"summary": "", "first_kept_id": "e1"}},
            "Line 2 .*first_kept_id is 'e1', and no such entry",
        ),
        ({**FIRST, "kind": "custom", "payload": {"text": "x", "fence": 5}}, "Line 2 .*payload.fence is 5"),
        ({**FIRST, "kind": "artifact", "payload": {"tainted": "no"}}, "Line 2 .*payload.tainted is 'no'"),
        (charge(cost=-1), "Line 2 .*charges.0.cost is -1"),
        (charge(usage={"input_tokens": 10**13}), "Line 2 .*input_tokens is 10000000000000"),
    ],
)
def test_an_entry_that_is_wrong_is_told_with_its_line(wrong: Any, what: str) -> None:
    with pytest.raises(RequestError, match=what) as caught:
        LogReader().read(lines(SESSION, wrong, SECOND))
    assert caught.value.data == {"line": 2}
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (SESSION, "the session 's1' was there before"),
        ({**SESSION, "id": "s2", "version": 2}, "version is 2, and only 1 is known"),
        ({**SESSION, "id": "s2", "version": None}, "version is None"),
        ({**SESSION, "id": "s2", "parent_id": "s9"}, "parent_id is 's9', and no such session"),
        ({**SESSION, "id": "s2", "title": "x" * 501}, "title is 'xxx"),
        ({**SESSION, "id": "s2", "principal": "a\0"}, "principal is"),
        ({**SESSION, "id": "s2", "tags": [""]}, "tags.0 is ''"),
        ({**SESSION, "id": "s2", "tags": ["x"] * 51}, "tags is"),
        (FIRST, "its seq is 1, but 3 comes next"),
        ({**SECOND, "seq": 3}, "the entry 'e2' was there before"),
        ({**SECOND, "seq": 3, "id": "e3"}, "ends here with 3 entries instead of 2"),
    ],
)
def test_a_session_that_is_wrong_is_told_with_its_line(wrong: Any, what: str) -> None:
    with pytest.raises(RequestError, match=f"Line 4 .*{what}"):
        LogReader().read(lines(SESSION, FIRST, SECOND, wrong))


@pytest.mark.parametrize(
    ("session", "what"),
    [({"seq": 3}, "ends here with 2 entries instead of 3"), ({"head": "e9"}, "the head .* is 'e9'")],
)
def test_a_session_that_does_not_fit_its_entries_is_told_at_its_end(session: dict[str, Any], what: str) -> None:
    with pytest.raises(RequestError, match=f"Line 3 .*{what}"):
        LogReader().read(lines({**SESSION, **session}, FIRST, SECOND))


def test_an_entry_of_another_session_counts_for_nothing() -> None:
    other = {**SESSION, "id": "s2", "seq": 1, "head": "e3"}
    with pytest.raises(RequestError, match="parent_id is 'e1'"):
        LogReader().read(
            lines(SESSION, FIRST, SECOND, other, {**FIRST, "id": "e3", "session_id": "s2", "parent_id": "e1"})
        )
    with pytest.raises(RequestError, match="no session stands before it"):
        LogReader().read(lines(FIRST))


@pytest.mark.parametrize("given", [[], [b""], [b"\n", b"  "]])
def test_nothing_is_no_import(given: list[bytes]) -> None:
    with pytest.raises(RequestError, match="no session"):
        LogReader().read(given)


def test_lines_have_a_greatest_size_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestError, match=f"Line 1 .*longer than {imports.MAX_LINE_BYTES} bytes"):
        LogReader().read([b" " * (imports.MAX_LINE_BYTES + 1)])
    monkeypatch.setattr(imports, "MAX_LINES", 2)
    with pytest.raises(RequestError, match=r"Line 3 .*more than 2 lines"):
        LogReader().read(lines(SESSION, FIRST, SECOND))
