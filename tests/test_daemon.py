"""The whole way through, as a user goes it: the daemon, its clients, a site and a model on real sockets."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import Site
from tests.daemon import Daemon, events, glados, isolated
from tests.model_server import Call, ModelServer, Reply, model_server_thread

LOOPBACK = {"WEB_FETCH_ALLOWED_ADDRESSES": "127.0.0.0/8"}


def research(site: Site) -> list[Reply]:
    """A model that fetches, is refused, adds the domain, fetches again and answers."""
    fetch = Call("web-fetch__fetch", {"url": site.url})
    return [
        Reply(calls=[fetch]),
        Reply(calls=[Call("web-fetch__add-domain", {"domain": site.host})]),
        Reply(calls=[fetch]),
        Reply(text="It was a triumph.", chunks=3),
    ]


def tool_results(server: ModelServer) -> list[str]:
    """What the model read of its calls, in order."""
    messages: list[dict[str, Any]] = server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_an_unlisted_domain_is_refused_then_allowed_by_a_person_then_fetched(tmp_path: Path, site: Site) -> None:
    with model_server_thread(research(site)) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url, **LOOPBACK)
        with Daemon(env) as daemon, daemon.client() as client:
            answered, seen = False, list[dict[str, Any]]()
            request = {"prompt": "What does the site say?"}
            with client.stream("POST", "/api/chat", json=request, headers={"Accept": "text/event-stream"}) as response:
                for event in events(response):
                    seen.append(event)
                    if event["type"] == "permission:requested":
                        question = client.get("/api/permissions").json()[0]
                        assert question["id"] == event["payload"]["id"]
                        answered = client.post(f"/api/permissions/{question['id']}", json={"answer": "once"}).is_success
            assert answered
            assert seen[-1]["type"] == "agent:run_end"
            assert seen[-1]["payload"]["response"] == "It was a triumph."
            entries = client.get(f"/api/sessions/{seen[-1]['session_id']}/entries").json()
            assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
        refused, added, fetched = tool_results(model)
        assert "domain_not_allowed" in refused
        assert json.loads(added) == {"domain": site.host, "added": True}
        assert "The Enrichment Center" in fetched
        assert site.paths == ["/"]


def test_plain_json_chat_denies_questions_at_once_and_says_what_to_do(tmp_path: Path, site: Site) -> None:
    with model_server_thread([*research(site)[:2], Reply(text="I may not.")]) as model:
        env = isolated(tmp_path, OPENAI_BASE_URL=model.url, **LOOPBACK)
        with Daemon(env) as daemon, daemon.client() as client:
            answer = client.post("/api/chat", json={"prompt": "Read it"}).json()
        assert answer["response"] == "I may not."
        assert [step["code"] for step in answer["steps"] if step["kind"] == "tool"] == [
            "domain_not_allowed",
            "permission_denied",
        ]
        assert "PERMISSIONS_ALLOW" in tool_results(model)[1]
        assert site.paths == []


def test_the_character_limit_comes_from_the_environment(tmp_path: Path, site: Site) -> None:
    env = isolated(tmp_path, WEB_FETCH_MAX_CHARACTERS="100", **LOOPBACK)
    with Daemon(env) as daemon, daemon.client() as client:
        added = client.post("/api/tools/web-fetch.add-domain", json={"input": {"domain": site.host}, "approve": True})
        assert added.json() == {"output": {"domain": site.host, "added": True}}
        output = client.post("/api/tools/web-fetch.fetch", json={"input": {"url": site.url}}).json()["output"]
    assert len(output["content"]) <= 100
    assert output["truncated"] is True
    assert output["content_length"] > 600


def test_a_wrong_value_is_named_and_the_daemon_does_not_start(tmp_path: Path) -> None:
    daemon = Daemon(isolated(tmp_path, WEB_FETCH_MAX_CHARACTERS="many"))
    code, errors = daemon.ended()
    assert code == 1
    assert "WEB_FETCH_MAX_CHARACTERS" in errors
    assert "'many'" in errors
    assert "whole number" in errors
    assert len(errors.strip().splitlines()) == 1


def test_sessions_outlast_the_daemon_and_it_says_so_when_they_do_not(tmp_path: Path) -> None:
    with Daemon(isolated(tmp_path)) as daemon, daemon.client() as client:
        assert not [line for line in daemon.lines if "in memory" in line]
        session_id = client.post("/api/chat", json={"prompt": "Hello"}).json()["session_id"]
        entries = client.get(f"/api/sessions/{session_id}/entries").json()
    with Daemon(isolated(tmp_path)) as daemon, daemon.client() as client:
        assert client.get(f"/api/sessions/{session_id}/entries").json() == entries
    with Daemon(isolated(tmp_path, CONVERSATIONS_ENABLED="false")) as daemon, daemon.client() as client:
        assert [line for line in daemon.lines if "sessions are kept in memory and end with this process" in line]
        assert client.get("/api/sessions").json() == []


def test_a_plugin_that_is_switched_off_is_seen_so_everywhere(tmp_path: Path) -> None:
    with Daemon(isolated(tmp_path, WEB_FETCH_ENABLED="false")) as daemon, daemon.client() as client:
        assert "[glados]   web-fetch: disabled" in daemon.lines
        assert "[glados]   database: enabled" in daemon.lines
        states = {plugin["id"]: plugin["state"] for plugin in client.get("/api/plugins").json()}
        assert states["web-fetch"] == "disabled"
        assert not [tool for tool in client.get("/api/tools").json() if tool["id"].startswith("web-fetch.")]


def test_the_line_that_the_daemon_prints_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    with Daemon(isolated(tmp_path)) as daemon:
        assert any(re.fullmatch(r"\[glados\] data in .+/data", line) for line in daemon.lines)
        assert "[glados] model: offline" in daemon.lines
        pasted = subprocess.run(["sh", "-c", daemon.lines[-1]], capture_output=True, text=True, timeout=30, check=False)
    answer = json.loads(pasted.stdout)
    assert "allow example.com" in answer["response"]
    assert shlex.split(daemon.lines[-1])[0] == "curl"


def test_a_newcomer_without_a_key_gets_from_the_refusal_to_the_page_in_two_lines(tmp_path: Path, site: Site) -> None:
    env = isolated(tmp_path, **LOOPBACK)
    refused = glados("run", f"fetch {site.url} as markdown", env=env)
    assert f"allow {site.host}" in refused.stdout
    denied = glados("run", f"allow {site.host}", env=env)
    assert "permission_denied" in denied.stdout + denied.stderr
    allowed = glados("call", "web-fetch.add-domain", json.dumps({"domain": site.host}), "--yes", env=env)
    assert json.loads(allowed.stdout) == {"domain": site.host, "added": True}
    fetched = glados("run", f"fetch {site.url} as markdown", env=env)
    assert "# The Enrichment Center" in fetched.stdout
    assert "[the cake](" in fetched.stdout


def test_sigterm_and_ctrl_c_stop_it_cleanly(tmp_path: Path) -> None:
    for how in (signal.SIGTERM, signal.SIGINT):
        with Daemon(isolated(tmp_path)) as daemon:
            code, errors = daemon.stop(how)
        assert code == 0
        assert "Traceback" not in errors


def test_a_run_that_waits_for_a_person_does_not_delay_the_stop(tmp_path: Path, site: Site) -> None:
    with model_server_thread([Reply(calls=[Call("web-fetch__add-domain", {"domain": site.host})])]) as model:
        with Daemon(isolated(tmp_path, OPENAI_BASE_URL=model.url, **LOOPBACK)) as daemon, daemon.client() as client:
            accept = {"Accept": "text/event-stream"}
            with client.stream("POST", "/api/chat", json={"prompt": "go"}, headers=accept) as response:
                assert any(event["type"] == "permission:requested" for event in events(response))
                code, errors = daemon.stop()
        assert code == 0, errors


def test_a_taken_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = Daemon(isolated(tmp_path), "--port", str(port)).ended()
    assert code == 1
    assert str(port) in errors
    assert "SERVER_PORT" in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_killed_daemon_starts_again(tmp_path: Path, site: Site) -> None:
    env = isolated(tmp_path, **LOOPBACK)
    with Daemon(env) as daemon, daemon.client() as client:
        client.post("/api/tools/web-fetch.add-domain", json={"input": {"domain": site.host}, "approve": True})
        daemon.stop(signal.SIGKILL)
    with Daemon(env) as daemon, daemon.client() as client:
        listed = client.post("/api/tools/web-fetch.list-domains", json={"input": {}}).json()
    assert listed == {"output": {"domains": [site.host]}}


def test_two_daemons_that_start_at_once_on_one_database_are_safe(tmp_path: Path) -> None:
    daemons = [Daemon(isolated(tmp_path)) for _ in range(2)]
    try:
        for daemon in daemons:
            daemon.ready()
            assert "[glados]   web-fetch: enabled" in daemon.lines
    finally:
        for daemon in daemons:
            daemon.stop()


def test_no_tool_reaches_the_daemon_itself(tmp_path: Path) -> None:
    with Daemon(isolated(tmp_path, **LOOPBACK)) as daemon, daemon.client() as client:
        client.post("/api/tools/web-fetch.add-domain", json={"input": {"domain": "127.0.0.1"}, "approve": True})
        answer = client.post("/api/tools/web-fetch.fetch", json={"input": {"url": f"{daemon.url}/healthz"}})
    assert answer.json()["code"] == "address_not_allowed"


def test_healthz_needs_no_token_and_everything_else_does(tmp_path: Path) -> None:
    with Daemon(isolated(tmp_path)) as daemon:
        assert httpx.get(f"{daemon.url}/healthz").status_code == 200
        assert httpx.get(f"{daemon.url}/readyz").status_code == 200
        assert httpx.get(f"{daemon.url}/api/tools").status_code == 401
        assert (Path(daemon.env["GLADOS_DATA_DIR"]) / "token").stat().st_mode & 0o777 == 0o600


def test_a_daemon_that_listens_everywhere_needs_a_token_and_says_so(tmp_path: Path) -> None:
    code, errors = Daemon(isolated(tmp_path), "--host", "0.0.0.0", "--port", "0").ended()
    assert code == 1
    assert "SERVER_TOKEN" in errors

    with Daemon(isolated(tmp_path, SERVER_TOKEN="a-long-enough-token"), "--host", "0.0.0.0", "--port", "0") as daemon:
        assert any(line.endswith(" and on every other address of this machine") for line in daemon.lines)
