"""What a service does not take is left out, and not sent to it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.asking import failure, prompt, text_of, told
from tests.model_server import Reply

if TYPE_CHECKING:
    from conftest import Serve


def refused(*errors: str) -> list[Reply]:
    return [*(Reply(status=400, error=error) for error in errors), Reply(text="a"), Reply(text="b")]


async def asked_twice(serve: Serve, api: str, errors: list[str], **options: Any) -> list[dict[str, Any]]:
    """The bodies of all requests: some are refused, one is answered, and one more that is asked alike."""
    server, model = await serve(refused(*errors), api=api)
    for answer in "ab":
        assert text_of(await told(model, prompt(**options))) == answer
    assert len(server.requests) == len(errors) + 2
    return [request.body for request in server.requests]


async def test_a_model_that_cannot_think_is_not_told_how_much(serve: Serve, api: str) -> None:
    error = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
    bodies = await asked_twice(serve, api, [error], thinking="high")

    assert [bool(body.get("reasoning") or body.get("reasoning_effort")) for body in bodies] == [True, False, False]


async def test_a_model_that_must_think_thinks_as_little_as_it_can(serve: Serve) -> None:
    error = "Unsupported value: 'reasoning_effort' does not support 'none' with this model."
    bodies = await asked_twice(serve, "chat", [error], thinking="off")

    assert [body["reasoning_effort"] for body in bodies] == ["none", "minimal", "minimal"]


async def test_summaries_and_encrypted_thoughts_are_left_out_where_they_are_refused(serve: Serve) -> None:
    errors = [
        "Encrypted content is not supported with this model.",
        "Your organization must be verified to generate reasoning summaries.",
    ]
    bodies = await asked_twice(serve, "responses", errors, thinking="low")

    assert ["include" in body for body in bodies] == [True, False, False, False]
    assert ["summary" in body["reasoning"] for body in bodies] == [True, True, False, False]


async def test_the_other_name_of_the_token_limit_is_used_where_a_service_wants_it(serve: Serve) -> None:
    error = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    bodies = await asked_twice(serve, "chat", [error], max_output_tokens=7)

    assert [body.get("max_tokens") for body in bodies] == [7, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 7, 7]


async def test_a_service_need_not_take_stream_options(serve: Serve) -> None:
    bodies = await asked_twice(serve, "chat", ["extra fields not permitted: stream_options"])

    assert ["stream_options" in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize("reply", [Reply(status=400, error="no reasoning"), Reply(status=500, error="stream_options")])
async def test_what_was_not_sent_or_not_refused_is_not_tried_again(serve: Serve, reply: Reply) -> None:
    server, model = await serve([reply])
    await failure(model)

    assert len(server.requests) == 1
