"""Which API a service is asked by, and how the other one is found where that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from glados.core.models.connection import Connection
from glados.core.models.openai import OpenAIModel
from tests.asking import failure, prompt, text_of, told
from tests.model_server import Reply, Script

if TYPE_CHECKING:
    from conftest import Serve


def paths(server: Any) -> list[str]:
    return [request.path.rpartition("/")[2] for request in server.requests]


@pytest.fixture
def api() -> str:
    return "auto"


@pytest.mark.parametrize(
    ("base_url", "chosen", "api"),
    [
        (None, "auto", "responses"),
        ("https://api.openai.com/v1/", "auto", "responses"),
        ("https://api.openai.com.example.com/v1", "auto", "chat"),
        ("http://127.0.0.1:11434/v1", "auto", "chat"),
        ("http://[::1/v1", "auto", "chat"),
        (None, "chat", "chat"),
        ("http://127.0.0.1:11434/v1", "responses", "responses"),
    ],
)
def test_openai_is_asked_by_responses_and_others_by_chat(base_url: str | None, chosen: Any, api: str) -> None:
    assert OpenAIModel("m", Connection(base_url=base_url), chosen).api == api


async def test_where_chat_is_missing_responses_are_asked_for_from_then_on(serve: Serve) -> None:
    server, model = await serve(Script([Reply(text="a"), Reply(text="b")], missing=["chat"]))

    assert [text_of(await told(model)), text_of(await told(model))] == ["a", "b"]
    assert paths(server) == ["completions", "responses", "responses"]
    assert model.api == "responses"


@pytest.mark.parametrize("error", ["This model is only supported in v1/responses", "Unsupported endpoint"])
async def test_a_refusal_that_names_the_other_api_is_followed(serve: Serve, error: str) -> None:
    server, model = await serve([Reply(status=400, error=error), Reply(text="Hi")])

    assert text_of(await told(model)) == "Hi"
    assert paths(server) == ["completions", "responses"]


async def test_where_both_are_missing_the_first_refusal_is_told(serve: Serve) -> None:
    server, model = await serve(Script(missing=["chat", "responses"]))
    error = await failure(model)

    assert error.code == "model_not_found"
    assert "chat/completions" in error.message
    assert (paths(server), model.api) == (["completions", "responses"], "chat")


async def test_a_failure_of_the_other_api_is_told(serve: Serve) -> None:
    server, model = await serve(Script([Reply(status=429), Reply(text="Hi")], missing=["chat"]))

    assert (await failure(model)).code == "model_rate_limited"
    assert text_of(await told(model)) == "Hi"
    assert paths(server) == ["completions", "responses"] * 2


async def test_a_model_that_is_missing_is_not_looked_for_elsewhere(serve: Serve) -> None:
    server, model = await serve([Reply(status=404, code="model_not_found")])

    assert (await failure(model)).code == "model_not_found"
    assert len(server.requests) == 1


async def test_an_api_that_has_answered_once_is_kept(serve: Serve) -> None:
    server, model = await serve([Reply(text="Hi"), Reply(status=404)])
    await told(model)

    assert (await failure(model)).code == "model_not_found"
    assert paths(server) == ["completions", "completions"]


@pytest.mark.parametrize(("chosen", "path"), [("chat", "completions"), ("responses", "responses")])
async def test_an_api_that_somebody_chose_is_the_only_one(serve: Serve, chosen: str, path: str) -> None:
    server, model = await serve(Script(missing=["chat", "responses"]), api=chosen)

    assert (await failure(model)).code == "model_not_found"
    assert paths(server) == [path]


async def test_models_on_one_connection_share_its_client(serve: Serve) -> None:
    server, model = await serve([Reply(text="a"), Reply(text="b"), Reply(text="c")])
    other = OpenAIModel("other", model._connection, "responses")
    for asked in (model, other, model):
        await told(asked, prompt())

    assert [request.body["model"] for request in server.requests] == ["scripted", "other", "scripted"]
    assert server.connections == 1
