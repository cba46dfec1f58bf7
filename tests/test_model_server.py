"""The scripted model server, as other tests use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from openai import OpenAI

from tests import model_server
from tests.model_server import Call, Reply, Rule, Script, model_server_thread


def post(url: str, body: Any) -> Any:
    with urlopen(Request(url, json.dumps(body).encode()), timeout=10) as response:
        return json.load(response)


def get(url: str) -> Any:
    with urlopen(url, timeout=10) as response:
        return json.load(response)


def ask(url: str, content: str, role: str = "user") -> dict[str, Any]:
    body = {"model": "scripted", "messages": [{"role": role, "content": content}]}
    return post(f"{url}/chat/completions", body)["choices"][0]["message"]


def test_rules_answer_before_the_replies_and_as_often_as_they_fit() -> None:
    rules = [Rule("weather", Reply(calls=[Call("weather.get", {}, id="a")]), role="user"), Rule("Rain", Reply("Wet."))]
    with model_server_thread(Script([Reply("One"), Reply("Two")], rules)) as server:
        answers = [ask(server.url, "Hi"), ask(server.url, "the weather?"), ask(server.url, "Rain", "tool")]
        answers += [ask(server.url, "weather", "tool"), ask(server.url, "weather again")]

    assert [answer["content"] for answer in answers] == ["One", None, "Wet.", "Two", None]
    assert answers[1]["tool_calls"] == answers[4]["tool_calls"]


def test_the_responses_api_answers_from_the_same_script() -> None:
    reply = Reply("Hi", thinking="Hm.", calls=[Call("dice.roll", {"count": 2}, id="a")])
    body: dict[str, Any] = {"model": "m", "input": [{"type": "function_call_output", "call_id": "x", "output": "Rain"}]}
    with model_server_thread(Script(rules=[Rule("Rain", reply, role="tool")])) as server:
        answer = post(f"{server.url}/responses", body)

    assert [item["type"] for item in answer["output"]] == ["reasoning", "message", "function_call"]
    assert answer["output"][2]["arguments"] == '{"count": 2}'
    assert answer["usage"]["input_tokens_details"] == {"cached_tokens": 4}


def test_a_stream_of_responses_is_one_that_the_sdk_understands() -> None:
    calls = [Call("dice__roll", {"count": 2}, id="a"), Call("dice__toss", {}, id="b")]
    with model_server_thread([Reply("Hello", thinking="Hm.", calls=calls, chunks=2)]) as server:
        client = OpenAI(base_url=server.url, api_key="none")
        with client.responses.stream(model="m", input=[{"role": "user", "content": "Hi"}]) as stream:
            response = stream.get_final_response()
        client.close()

    assert response.output_text == "Hello"
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    assert response.usage is not None
    assert response.usage.total_tokens == 15


def test_an_api_can_be_missing() -> None:
    with model_server_thread(Script([Reply("Hi")], missing=["chat"])) as server, pytest.raises(HTTPError) as raised:
        ask(server.url, "Hi")
    with raised.value as error:
        assert error.code == 404


def test_a_script_that_has_ended_says_so() -> None:
    with model_server_thread() as server, pytest.raises(HTTPError) as raised:
        ask(server.url, "Hi")
    with raised.value as error:
        assert error.code == 500
        assert "the script has no reply" in error.read().decode()


def test_it_runs_as_a_process_and_takes_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"models": ["a", "b"], "replies": [{"text": "Hello"}]}))
    command = [sys.executable, str(model_server.__file__), "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert [model["id"] for model in get(f"{url}/models")["data"]] == ["a", "b"]
            assert ask(url, "Hi")["content"] == "Hello"
            post(url.replace("/v1", "/script"), [{"text": "Bye"}])
            assert ask(url, "And?")["content"] == "Bye"
            recorded = get(url.replace("/v1", "/requests"))
            assert [request["messages"][0]["content"] for request in recorded] == ["Hi", "And?"]
        finally:
            process.terminate()
