"""What the adapter for OpenAI's APIs says when the service fails."""

from __future__ import annotations

import socket
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from glados.core.model import ModelDelta, TextDelta, ToolCallDelta
from glados.core.models.connection import Connection
from glados.core.models.errors import ModelRateLimited
from glados.core.models.openai import OpenAIModel
from tests.asking import failure, told
from tests.model_server import Call, Reply, Script

if TYPE_CHECKING:
    from conftest import Serve

KEY = "sk-very-secret-0123456789"
BAD = ("model_bad_response", "OPENAI_BASE_URL")
RETRYABLE = {"model_rate_limited", "model_unavailable", "model_timeout", "model_stream_cut"}


@pytest.mark.parametrize(
    ("reply", "code", "check"),
    [
        (Reply(status=401), "model_auth_failed", "OPENAI_API_KEY"),
        (Reply(status=403), "model_auth_failed", "OPENAI_API_KEY"),
        (Reply(status=404), "model_not_found", "MODEL_NORMAL"),
        (Reply(status=400, code="context_length_exceeded"), "model_context_too_long", "MODEL_NORMAL"),
        (
            Reply(status=400, error="This model's maximum context length is 8 tokens"),
            "model_context_too_long",
            "larger",
        ),
        (Reply(status=400, error="unknown parameter"), "model_failed", "unknown parameter"),
        (Reply(status=429), "model_rate_limited", "quota"),
        (Reply(status=500), "model_unavailable", "OPENAI_BASE_URL"),
        (Reply(status=503), "model_unavailable", "OPENAI_BASE_URL"),
        (Reply(fault="cut", after=0), "model_unavailable", "OPENAI_BASE_URL"),
        (Reply(text="Hi", fault="cut", after=2), "model_stream_cut", "again"),
        (Reply(text="Hi", finish=None), "model_stream_cut", "again"),
        (Reply(events=[], done=False), "model_stream_cut", "again"),
        (Reply(text="Hi", fault="malformed"), *BAD),
        (Reply(events=["[1]"]), *BAD),
        (Reply(events=["{"]), *BAD),
        (Reply(events=[{"choices": [{"delta": "Hi"}]}, {"type": "response.completed", "response": 1}]), *BAD),
        (Reply(headers={"content-type": "text/html"}), "model_bad_response", "/v1"),
        (Reply(events=[{"error": {"message": "overloaded", "code": 503}}]), "model_unavailable", "overloaded"),
        (Reply(events=[{"error": {"message": "slow down", "type": "rate_limit_error"}}]), "model_rate_limited", "slow"),
    ],
)
async def test_each_failure_has_a_code_and_says_what_to_check(
    serve: Serve, reply: Reply, code: str, check: str
) -> None:
    _, model = await serve([reply], api_key=KEY)
    error = await failure(model)

    assert error.code == code
    assert check in error.message
    assert error.retryable is (code in RETRYABLE)


@pytest.mark.parametrize("status", [429, 503])
async def test_who_is_refused_for_now_is_told_when_to_come_back(serve: Serve, status: int) -> None:
    _, model = await serve([Reply(status=status, headers={"retry-after": "7"}), Reply(status=status)])
    errors = [await failure(model), await failure(model)]

    assert isinstance(errors[0], ModelRateLimited) is (status == 429)
    assert [error.data["retry_after"] for error in errors] == [7.0, None]


async def test_what_was_complete_before_a_cut_is_told(serve: Serve, api: str) -> None:
    calls = [Call("dice.roll", {}, id="a"), Call("dice.roll", {}, id="b")]
    after = {"chat": 4, "responses": 10}[api]
    _, model = await serve([Reply(text="I roll.", calls=calls, split="whole", fault="cut", after=after)])
    deltas: list[ModelDelta] = []
    error = await failure(model, deltas)

    assert error.code == "model_stream_cut"
    assert deltas[0] == TextDelta("I roll.")
    assert [delta.call.id for delta in deltas if isinstance(delta, ToolCallDelta)] == ["a"]


async def test_a_cut_after_the_reason_to_stop_costs_only_the_usage(serve: Serve, api: str) -> None:
    _, model = await serve([Reply(text="Hi", fault="cut", after={"chat": 3, "responses": 8}[api])])

    assert (await told(model))[0] == TextDelta("Hi")


@pytest.mark.parametrize("after", [0, 2])
async def test_a_silent_service_times_out(serve: Serve, after: int) -> None:
    _, model = await serve([Reply(text="ab", chunks=2, fault="hang", after=after)], timeout=0.2)

    assert (await failure(model)).code == "model_timeout"


@pytest.mark.parametrize(
    "base_url", ["http://127.0.0.1:{port}/v1", "http://127.0.0.1:x/v1", "ftp://127.0.0.1", "nonsense"]
)
async def test_an_address_where_nobody_answers_is_named(base_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    model = OpenAIModel("scripted", Connection(base_url=base_url.format(port=port)))
    error = await failure(model)
    await model.close()

    assert error.code == "model_unavailable"
    assert base_url.format(port=port) in error.message


@pytest.mark.parametrize("models", [[], ["unused"]])
async def test_no_model_to_choose_from_is_an_error(serve: Serve, models: list[str]) -> None:
    server, model = await serve(Script(models=models), name=None)
    if models:
        model = OpenAIModel(None, Connection(base_url=server.url.removesuffix("/v1")))
    error = await failure(model)
    await model.close()

    assert error.code == ("model_not_found" if models else "model_bad_response")


async def test_openai_needs_a_model_name() -> None:
    model = OpenAIModel(None, Connection(api_key=KEY))
    error = await failure(model)
    await model.close()

    assert error.code == "model_not_found"
    assert "MODEL_NORMAL" in error.message


@pytest.mark.parametrize("status", [401, 400, 429, 500])
@pytest.mark.parametrize("key", [KEY, "noprefix0123456789"])
@pytest.mark.parametrize("said", ["bad key {key}", "bad key sk-very**********6789", "Authorization: Bearer {key}"])
async def test_the_key_is_never_told(serve: Serve, status: int, key: str, said: str) -> None:
    _, model = await serve([Reply(status=status, error=said.format(key=key))], api_key=key)
    error = await failure(model)
    everything = f"{error!r} {error} {error.to_dict()} {''.join(traceback.format_exception(error))}"

    assert "sk-very" not in everything
    assert key not in everything


async def test_credentials_in_the_address_are_never_told() -> None:
    model = OpenAIModel("scripted", Connection(base_url="http://me:secret@127.0.0.1:1/v1?token=secret"))
    error = await failure(model)
    await model.close()
    told: Any = error.to_dict()

    assert "secret" not in str(told)
