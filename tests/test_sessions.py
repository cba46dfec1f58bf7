"""Sessions last: over restarts, from one process to another, and from one database to the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.daemon import Daemon, events, glados, isolated
from tests.model_server import Call, Reply, model_server_thread

NDJSON = {"Content-Type": "application/x-ndjson"}


def done(*args: str, env: dict[str, str], **options: Any) -> str:
    ended = glados(*args, env=env, **options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def plain(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def test_a_session_of_the_daemon_is_there_after_a_restart_and_goes_on_in_another_process(tmp_path: Path) -> None:
    replies = [
        Reply(calls=[Call("web-fetch__list-domains")]),
        Reply(text="There are none."),
        Reply(text="Still none."),
        Reply(text="And none."),
    ]
    with model_server_thread(replies) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url)
        with Daemon(env) as daemon, daemon.client() as client:
            id = client.post("/api/chat", json={"prompt": "Which domains?"}).json()["session_id"]
            client.patch(f"/api/sessions/{id}", json={"title": "Domains", "tags": ["web"]}).raise_for_status()
            before = client.get(f"/api/sessions/{id}/export").text
            daemon.stop()
        with Daemon(env) as daemon, daemon.client() as client:
            assert client.get(f"/api/sessions/{id}/export").text == before
            assert [session["id"] for session in client.get("/api/sessions", params={"tag": "web"}).json()] == [id]
            # The daemon runs on: the session has no run, so that another process may work in it.
            answer = json.loads(done("run", "And now?", "--continue", "--json", env=env))
            assert (answer["session_id"], answer["response"]) == (id, "Still none.")
            assert done("run", "Again", "--session", id[:12], env=env) == "And none.\n"
            entries = client.get(f"/api/sessions/{id}/entries").json()
        said = [entry["payload"]["parts"][0].get("text") for entry in entries if entry["kind"] == "message"]
        assert said[-4:] == ["And now?", "Still none.", "Again", "And none."]
        told = [message["content"] for message in model.requests[-1].body["messages"] if message["role"] == "user"]
        assert told == ["Which domains?", "And now?", "Again"]
    assert "**Result** of `web-fetch.list-domains`" in done("sessions", "show", id[:8], env=env)
    assert [hit["seq"] for hit in json.loads(done("sessions", "search", "still none", "--json", env=env))] == [7]


def test_what_is_exported_from_sqlite_is_the_same_on_postgresql(tmp_path: Path, postgresql_server: Any) -> None:
    prices = '{"m": {"input": 1.0, "output": 2.0}}'
    with model_server_thread([Reply(text="Zürich \u0000 東京"), Reply(text="Left"), Reply(text="Right")]) as model:
        here = isolated(tmp_path / "here", OPENAI_BASE_URL=model.url, MODEL_NORMAL="m", MODEL_PRICES=prices)
        id = json.loads(done("run", "Where?", "--json", env=here))["session_id"]
        done("run", "And?", "--continue", env=here)
        done("sessions", "switch", id, "2", env=here)
        done("run", "Or?", "--continue", env=here)
    done("sessions", "tag", id, "a", "b", env=here)
    done("sessions", "export", id, "-o", str(tmp_path / "talk.jsonl"), env=here)
    written = (tmp_path / "talk.jsonl").read_text(encoding="utf-8")
    assert len({line["parent_id"] for line in plain(written)[1:]}) < len(plain(written)) - 1, "it has branches"

    with postgresql_server.database() as url:
        there = isolated(tmp_path / "there", DATABASE_URL=url)
        assert done("sessions", "import", str(tmp_path / "talk.jsonl"), env=there).startswith(id)
        assert done("sessions", "export", id, env=there) == written
        assert done("sessions", "costs", id, "--json", env=there) == done("sessions", "costs", id, "--json", env=here)
        with Daemon(there) as daemon, daemon.client() as client:
            copied = client.post("/api/sessions/import", content=written.encode(), headers=NDJSON)
            assert copied.status_code == 201, copied.text
            [copy] = copied.json()
            assert (copy["id"] != id, copy["tainted"], copy["tags"]) == (True, True, ["a", "b"])
            entries = client.get(f"/api/sessions/{copy['id']}/entries").json()
            assert [entry["payload"] for entry in entries] == [line["payload"] for line in plain(written)[1:]]
            assert client.get(f"/api/sessions/{copy['id']}").json()["costs"][0]["calls"] == 3


def test_an_imported_session_asks_before_it_changes_anything(tmp_path: Path) -> None:
    allowed = {"PERMISSIONS_ALLOW": "web-fetch.add-domain"}
    call = Reply(calls=[Call("web-fetch__add-domain", {"domain": "example.org"})])
    with model_server_thread([call, Reply(text="Added."), call, Reply(text="I may not.")]) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url, **allowed)
        first = json.loads(done("run", "Add it", "--json", env=env))
        assert [step["code"] for step in first["steps"] if step["kind"] == "tool"] == [None]
        lines = done("sessions", "export", first["session_id"], env=env)
        [copy] = json.loads(done("sessions", "import", "-", "--json", env=env, input=lines))
        second = json.loads(done("run", "Again", "--session", copy["id"], "--json", env=env))
        assert [step["code"] for step in second["steps"] if step["kind"] == "tool"] == ["permission_denied"]


def test_the_rules_of_a_session_are_listed_and_taken_back(tmp_path: Path) -> None:
    call = Reply(calls=[Call("web-fetch__add-domain", {"domain": "example.org"})])
    with model_server_thread([call, Reply(text="Added.")]) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url)
        with Daemon(env) as daemon, daemon.client() as client:
            id = client.post("/api/sessions").json()["id"]
            asked: dict[str, Any] = {
                "json": {"prompt": "Add it", "session_id": id},
                "headers": {"Accept": "text/event-stream"},
            }
            with client.stream("POST", "/api/chat", **asked) as response:
                for event in events(response):
                    if event["type"] == "permission:requested":
                        path = f"/api/permissions/{event['payload']['id']}"
                        client.post(path, json={"answer": "session"}).raise_for_status()
            [over_http] = client.get("/api/permissions/rules", params={"session_id": id}).json()
    [rule] = json.loads(done("sessions", "rules", id[:12], "--json", env=env))
    assert rule == over_http
    assert (rule["session_id"], rule["effect"]) == (id, "allow")
    assert done("sessions", "rules", env=env) == "No answer has made a rule.\n"
    assert done("sessions", "rules", id, "--revoke", rule["id"], "--json", env=env) == "[]\n"
