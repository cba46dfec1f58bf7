"""A model adapter that talks to a scripted server over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from glados.core.models.openai import OpenAIModel
from tests.model_server import ModelServer, Reply, Script

Serve = Callable[..., Awaitable[tuple[ModelServer, OpenAIModel]]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a server with a script, and a model that talks to it."""
    async with AsyncExitStack() as stack:

        async def start(
            script: Script | Sequence[Reply], *, name: str | None = "scripted", max_retries: int = 0, **options: Any
        ) -> tuple[ModelServer, OpenAIModel]:
            server = await stack.enter_async_context(ModelServer(script))
            model = OpenAIModel(name, base_url=server.url, max_retries=max_retries, **options)
            stack.push_async_callback(model.close)
            return server, model

        yield start
