"""`glados sessions`, and going on with them: one process after the other, on sessions that last."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glados.core import Rule, StoredRule
from glados.core.rule_file import FileRuleStore
from glados.server.cli.sessions import command

Glados = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def kept(environment: dict[str, str], tmp_path: Path) -> Path:
    """The file that keeps the sessions of this test."""
    environment["PROBE_SESSIONS"] = str(tmp_path / "kept.jsonl")
    return tmp_path / "kept.jsonl"


@pytest.fixture
def said(glados: Glados) -> Callable[..., str]:
    """Say something to the agent; gives the id of the session."""

    def say(prompt: str, *options: str) -> str:
        return json.loads(glados("run", "--json", prompt, *options).stdout)["session_id"]

    return say


def echo(text: str) -> str:
    return f"/call probe.echo {json.dumps({'text': text})}"


def listed(glados: Glados, *args: str) -> Any:
    done = glados("sessions", *args, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def put(kept: Path, *ids: str, **fields: Any) -> None:
    """Keep sessions of these ids, without entries."""
    time = "2026-02-03T04:05:06.789+00:00"
    made = {"type": "session", "version": 1, "title": None, "created_at": time, "updated_at": time, "parent_id": None}
    made |= {"principal": "local", "seq": 0, "head": None, "tags": [], "forked_from": None, **fields}
    kept.write_text("".join(json.dumps({**made, "id": id}) + "\n" for id in ids))


def test_a_run_goes_on_with_the_latest_session_or_with_the_one_that_is_named(glados: Glados, said: Any) -> None:
    first, second = said(echo("one")), said(echo("two"))
    assert said(echo("three"), "--continue") == second
    assert said(echo("four"), "--session", first[:10]) == first
    assert said(echo("five"), "--continue") == first
    prompts = [entry for entry in listed(glados, "show", first) if entry["payload"].get("role") == "user"]
    assert [json.loads(entry["payload"]["parts"][0]["text"][17:])["text"] for entry in prompts] == [
        "one",
        "four",
        "five",
    ]


def test_there_must_be_a_session_to_go_on_with_and_only_one(glados: Glados) -> None:
    none = glados("run", "hello", "--continue")
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.splitlines()[-1] == "glados: There is no session to go on with: begin one with a prompt."
    both = glados("run", "hello", "--continue", "--session", "x")
    assert both.returncode == 2
    assert "--session and --continue name two sessions" in both.stderr


def test_sessions_are_listed_the_latest_first(glados: Glados, said: Any) -> None:
    assert "`glados run" in glados("sessions").stdout
    first = said("hello")
    assert glados("sessions").stdout.startswith(f"{first[:8]} ")
    second = said("and more")
    said("again", "--session", first)
    assert [session["id"] for session in listed(glados)] == [first, second]
    assert [session["id"] for session in listed(glados, "list", "--order", "created")] == [second, first]
    lines = glados("sessions").stdout.splitlines()
    assert re.fullmatch(rf"{first[:8]}\s+\d{{4}}-\d\d-\d\d \d\d:\d\d\s+6 entries\s+\$\S+\s+hello", lines[0])
    assert [session["id"] for session in listed(glados, "list", "--limit", "1", "--after", first[:9])] == [second]


def test_a_list_is_narrowed_and_shows_as_much_of_an_id_as_it_needs(glados: Glados, kept: Path) -> None:
    put(kept, "aaaaaaaa-1", "aaaaaaaa-2", "b", tags=["x"], title="T\x1b[2J")
    assert [line.split()[0] for line in glados("sessions").stdout.splitlines()] == ["b", "aaaaaaaa-2", "aaaaaaaa-1"]
    glados("sessions", "tag", "b", "cake")
    glados("sessions", "rename", "b", "The Cake")
    assert [session["id"] for session in listed(glados, "list", "--tag", "cake")] == ["b"]
    assert [session["id"] for session in listed(glados, "list", "--title", "CAKE")] == ["b"]
    assert listed(glados, "list", "--tag", "pie") == []


def test_the_sessions_of_agents_are_listed_on_demand(glados: Glados, kept: Path) -> None:
    put(kept, "root")
    child = {**json.loads(kept.read_text()), "id": "child", "parent_id": "root"}
    kept.write_text(kept.read_text() + json.dumps(child) + "\n")
    assert [session["id"] for session in listed(glados)] == ["root"]
    assert {session["id"] for session in listed(glados, "list", "--all")} == {"root", "child"}


def test_a_transcript_is_shown_to_people(glados: Glados, said: Any) -> None:
    id = said(echo("cake"))
    text = glados("sessions", "show", id[:12]).stdout
    assert "## You\n\n/call probe.echo" in text
    assert "**Result** of `probe.echo`" in text
    assert listed(glados, "show", id)[0]["seq"] == 1


def test_words_are_found_in_what_was_said(glados: Glados, said: Any) -> None:
    id, other = said("the cake is a lie"), said("the cake is real")
    found = listed(glados, "search", "lie cake")
    assert [(hit["session_id"], hit["role"]) for hit in found] == [(id, "user")]
    assert {hit["session_id"] for hit in listed(glados, "search", "cake")} == {id, other}
    assert [hit["session_id"] for hit in listed(glados, "search", "cake", "--session", id[:12])] == [id]
    assert f"{id}  #1  user  the cake is a lie" in glados("sessions", "search", "lie").stdout
    assert glados("sessions", "search", "pie").stdout == "Nothing was found.\n"
    assert glados("sessions", "search", " ").returncode == 1


def test_title_and_tags_are_changed(glados: Glados, said: Any) -> None:
    id = said("hello")
    assert glados("sessions", "rename", id[:8], "The cake").stdout == f"Session {id} is called 'The cake' now.\n"
    assert glados("sessions", "tag", id[:8], "a", "b").stdout == f"Session {id} has the tags: a, b.\n"
    assert json.loads(glados("sessions", "tag", id, "--json").stdout)["tags"] == []
    assert listed(glados)[0]["title"] == "The cake"
    assert glados("sessions", "rename", id, "x" * 501).returncode == 1


def test_a_fork_begins_with_what_was_said(glados: Glados, said: Any) -> None:
    id = said("hello")
    entries = listed(glados, "show", id)
    fork = json.loads(glados("sessions", "fork", id[:8], "--at", "2", "--title", "Other", "--json").stdout)
    assert (fork["seq"], fork["title"], fork["forked_from"]) == (2, "Other", id)
    assert "is the fork, with 1 entries" in glados("sessions", "fork", id, "--at", entries[0]["id"][:12]).stdout
    assert "is the fork, with 3 entries" in glados("sessions", "fork", id).stdout
    unknown = glados("sessions", "fork", id, "--at", "99", "--json")
    assert json.loads(unknown.stderr.splitlines()[-1])["error"]["code"] == "entry_not_found"


def test_a_switch_begins_another_branch(glados: Glados, said: Any) -> None:
    id = said("hello")
    first = listed(glados, "show", id)[0]["id"]
    assert glados("sessions", "switch", id, "1").stdout == f"Session {id} goes on behind {first}.\n"
    said("again", "--session", id)
    assert listed(glados, "show", id)[3]["parent_id"] == first
    assert json.loads(glados("sessions", "switch", id, "0", "--json").stdout)["head"] is None


def test_what_is_exported_is_imported_again(glados: Glados, said: Any, tmp_path: Path) -> None:
    id = said(echo("käse \u202e"))
    done = glados("sessions", "export", id[:8], "-o", "talk.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    written = (tmp_path / "talk.jsonl").read_text(encoding="utf-8")
    assert (tmp_path / "talk.jsonl").stat().st_mode & 0o777 == 0o600
    assert glados("sessions", "export", id).stdout == written
    ascii = glados("sessions", "export", id, PYTHONIOENCODING="ascii").stdout
    assert [json.loads(line) for line in ascii.splitlines()] == [json.loads(line) for line in written.splitlines()]

    [copy] = json.loads(glados("sessions", "import", "talk.jsonl", "--json").stdout)
    assert (copy["id"] != id, copy["tainted"], copy["seq"]) == (True, True, listed(glados, "show", id)[-1]["seq"])
    glados("sessions", "delete", id, "--yes")
    assert glados("sessions", "import", "-", stdin=written.encode()).stdout.startswith(f"{id}  ")
    assert glados("sessions", "export", id).stdout == written


def test_markdown_goes_to_a_file_that_is_replaced(glados: Glados, said: Any, tmp_path: Path) -> None:
    id = said("hello")
    (tmp_path / "talk.md").write_text("old")
    glados("sessions", "export", id, "--format", "markdown", "--output", "talk.md")
    assert (tmp_path / "talk.md").read_text().startswith("# hello\n")
    assert [path.name for path in tmp_path.glob("talk*")] == ["talk.md"]
    nowhere = glados("sessions", "export", id, "-o", "missing/talk.md")
    assert (nowhere.returncode, nowhere.stderr.splitlines()[-1][:8]) == (1, "glados: ")


def test_what_cannot_be_imported_is_one_sentence(glados: Glados, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"type": "session", "version": 7}\n')
    done = glados("sessions", "import", "bad.jsonl")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("glados: Line 1 cannot be imported: its version is 7")
    assert glados("sessions", "import", "missing.jsonl").returncode == 2
    assert listed(glados) == []


def test_a_session_is_deleted_by_who_says_so(glados: Glados, said: Any) -> None:
    id = said("hello")
    refused = glados("sessions", "delete", id)
    assert refused.returncode == 2
    assert "say --yes" in refused.stderr
    assert [session["id"] for session in listed(glados)] == [id]
    assert glados("sessions", "delete", id[:8], "--yes").stdout == f"Session {id} is deleted.\n"
    assert listed(glados) == []


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("\x04", 1)])
def test_on_a_terminal_deleting_asks(
    glados: Glados, said: Any, environment: dict[str, str], program: list[str], tmp_path: Path, typed: str, code: int
) -> None:
    id = said("hello")
    ours, theirs = pty.openpty()
    command = [*program, "sessions", "delete", id]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment, cwd=tmp_path, text=True
    ) as process:
        os.close(theirs)
        seen = ""
        while "[n]o: " not in seen:
            seen += os.read(ours, 4096).decode()
        os.write(ours, typed.encode())
        process.communicate(timeout=60)
    os.close(ours)
    assert f"Delete session {id} 'hello' with 3 entries?" in seen
    assert process.returncode == code
    assert bool(listed(glados)) == bool(code)


def test_costs_are_told_by_model(glados: Glados, kept: Path) -> None:
    put(kept, "s", seq=1, head="e")
    usage = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0, "reasoning_tokens": 0}
    entry = {
        "type": "entry",
        "id": "e",
        "session_id": "s",
        "seq": 1,
        "parent_id": None,
        "kind": "custom",
        "payload": {},
        "created_at": "2026-02-03T04:05:06.789+00:00",
        "run_id": None,
        "principal": "local",
        "charges": [{"model": "gpt", "usage": usage, "cost": 0.25}, {"model": "zed", "usage": None, "cost": None}],
    }
    kept.write_text(kept.read_text() + json.dumps(entry) + "\n")
    assert [line.split() for line in glados("sessions", "costs", "s").stdout.splitlines()] == [
        ["gpt", "1", "calls", "10", "tokens", "in,", "5", "out", "$0.2500"],
        ["zed", "1", "calls", "0", "tokens", "in,", "0", "out", "$?"],
    ]
    assert [cost["model"] for cost in listed(glados, "costs", "s")] == ["gpt", "zed"]


def test_rules_given_for_good_are_listed_and_taken_back(glados: Glados, tmp_path: Path) -> None:
    assert glados("sessions", "rules").stdout == "No answer has made a rule.\n"
    stored = StoredRule("r1", Rule.parse("probe.change", "allow"), "local", "now")
    asyncio.run(FileRuleStore(tmp_path / "data" / "glados" / "rules.json").add(stored))
    assert glados("sessions", "rules").stdout.split() == ["r1", "for", "good", "allow", "probe.change", "local", "now"]
    assert [rule["id"] for rule in listed(glados, "rules")] == ["r1"]
    assert listed(glados, "rules", "--revoke", "r1") == []
    gone = glados("sessions", "rules", "--revoke", "r1", "--json")
    assert json.loads(gone.stderr.splitlines()[-1])["error"]["code"] == "rule_not_found"


@pytest.mark.parametrize("line", ["show ID", "export ID", "rename ID x", "delete ID --yes"])
def test_a_session_that_is_not_there_or_not_alone_is_one_sentence(glados: Glados, kept: Path, line: str) -> None:
    put(kept, "abc1", "abc2")
    unknown = glados("sessions", *line.replace("ID", "nope").split())
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert unknown.stderr.splitlines()[-1].startswith("glados: There is no session 'nope'")
    ambiguous = glados("sessions", *line.replace("ID", "abc").split())
    assert (ambiguous.returncode, ambiguous.stdout) == (1, "")
    told = "glados: More than one session begins with 'abc', give more of its id: abc2, abc1."
    assert ambiguous.stderr.splitlines()[-1] == told
    assert "Traceback" not in unknown.stderr + ambiguous.stderr


def test_every_command_below_has_examples() -> None:
    assert set(command.commands) == {
        *("list", "show", "search", "rename", "tag", "fork", "switch", "export", "import", "delete", "costs", "rules")
    }
    for below in command.commands.values():
        assert re.search(r"Examples:\n +glados sessions ", below.help or "")


@pytest.mark.parametrize("arguments", [["list"], ["import", "-"], ["search", "cake"], ["export", "5f0c"]])
def test_where_no_sessions_are_stored_that_is_said_instead_of_an_empty_answer(
    arguments: list[str], environment: dict[str, str], glados: Glados
) -> None:
    del environment["PROBE_SESSIONS"]
    done = glados("sessions", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Sessions are stored nowhere" in done.stderr
    assert glados("sessions", "rules").returncode == 0
