"""A model adapter that talks to a scripted server over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from glados.core.models.connection import Connection
from glados.core.models.openai import OpenAIModel
from tests.model_server import ModelServer, Reply, Script

Serve = Callable[..., Awaitable[tuple[ModelServer, OpenAIModel]]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["chat", "responses"])
def api(request: pytest.FixtureRequest) -> str:
    """The API by which models are asked; a module for one of them says so with a fixture of its own."""
    return request.param


@pytest.fixture
async def serve(api: Any) -> AsyncIterator[Serve]:
    """Start a server with a script, and a model that talks to it."""
    async with AsyncExitStack() as stack:

        async def start(
            script: Script | Sequence[Reply], *, name: str | None = "scripted", api: Any = api, **options: Any
        ) -> tuple[ModelServer, OpenAIModel]:
            server = await stack.enter_async_context(ModelServer(script))
            model = OpenAIModel(name, Connection(base_url=server.url, **options), api)
            stack.push_async_callback(model.close)
            return server, model

        yield start
