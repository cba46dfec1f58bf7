"""The daemon is killed in the middle of its work, and goes on when it is started again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.daemon import Daemon, events, isolated
from tests.model_server import Call, Reply, model_server_thread

STREAMED = {"Accept": "text/event-stream"}
ADD = Call("web-fetch__add-domain", {"domain": "example.org"})


def stopped_at(daemon: Daemon, kind: str, how: int = signal.SIGKILL) -> dict[str, Any]:
    """Send a prompt, and stop the daemon as soon as that event is told; gives the event."""
    prompt: dict[str, Any] = {"json": {"prompt": "Go"}, "headers": STREAMED}
    with daemon.client() as client, client.stream("POST", "/api/chat", **prompt) as response:
        told: dict[str, Any] = next(event for event in events(response) if event["type"] == kind)
        daemon.stop(how)
    return told


def log_of(client: httpx.Client, session_id: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = client.get(f"/api/sessions/{session_id}/entries").json()
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    return entries


def wait_behind(client: httpx.Client, session_id: str) -> str:
    """A prompt that waits in line until the run before it has ended."""
    return client.post("/api/chat", json={"session_id": session_id, "prompt": "And?"}).json()["response"]


def test_a_run_that_was_killed_while_the_model_answered_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    replies = [
        Reply(calls=[Call("web-fetch__list-domains")]),
        Reply(text="I was about to say", chunks=3, fault="hang", after=2),
        Reply(text="There are none."),
        Reply(text="No more."),
    ]
    with model_server_thread(replies) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url)
        with Daemon(env) as daemon:
            session_id = stopped_at(daemon, "agent:stream_chunk")["session_id"]
        with Daemon(env) as daemon, daemon.client() as client:
            assert wait_behind(client, session_id) == "No more."
            entries = log_of(client, session_id)
            session = client.get(f"/api/sessions/{session_id}").json()

        cut, again = (request.body for request in model.requests[1:3])
        assert again == cut
        kinds = [entry["payload"].get("role", entry["kind"]) for entry in entries]
        assert kinds[:6] == ["user", "assistant", "tool", "run_resume", "assistant", "run_end"]
        assert len({entry["run_id"] for entry in entries[:6]}) == 1
        assert entries[5]["payload"]["stop"] == "end"
        assert session["usage"]["input_tokens"] == 30


@pytest.mark.parametrize(("answer", "added"), [("once", True), ("session", True), ("always", True), ("deny", False)])
def test_a_question_that_was_open_when_the_daemon_was_killed_is_answered_after_it(
    answer: str, added: bool, tmp_path: Path, database_url: str
) -> None:
    with model_server_thread([Reply(calls=[ADD]), Reply(text="Done."), Reply(text="No more.")]) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url, DATABASE_URL=database_url)
        with Daemon(env) as daemon:
            asked = stopped_at(daemon, "permission:requested")
        with Daemon(env) as daemon, daemon.client() as client:
            while not (questions := client.get("/api/permissions").json()):
                pass  # it is asked as soon as the run has come so far
            assert [question["id"] for question in questions] == [asked["payload"]["id"]]
            path = f"/api/permissions/{questions[0]['id']}"
            assert client.post(path, json={"answer": answer}).is_success
            late = client.post(path, json={"answer": "once"})
            assert (late.status_code, late.json()["code"]) == (409, "question_answered")
            assert wait_behind(client, asked["session_id"]) == "No more."
            entries = log_of(client, asked["session_id"])
            rules = client.get("/api/permissions/rules", params={"session_id": asked["session_id"]}).json()
            domains = client.post("/api/tools/web-fetch.list-domains", json={"input": {}}).json()["output"]["domains"]

    assert len([entry for entry in entries if entry["kind"] == "permission_question"]) == 1
    assert [entry["payload"]["stop"] for entry in entries if entry["kind"] == "run_end"] == ["end", "end"]
    assert ("example.org" in str(domains)) == added
    made = {"once": [], "session": [("allow", asked["session_id"])], "always": [("allow", None)]}
    assert [(rule["effect"], rule["session_id"]) for rule in rules] == made.get(answer, [("deny", asked["session_id"])])


def test_a_daemon_that_is_stopped_leaves_nothing_to_go_on_with(tmp_path: Path) -> None:
    with model_server_thread([Reply(calls=[ADD])]) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url)
        with Daemon(env) as daemon:
            asked = stopped_at(daemon, "permission:requested", signal.SIGTERM)
        with Daemon(env) as daemon, daemon.client() as client:
            assert client.get("/api/permissions").json() == []
            entries = log_of(client, asked["session_id"])

    assert entries[-1]["payload"]["stop"] == "aborted"
    assert len(model.requests) == 1
