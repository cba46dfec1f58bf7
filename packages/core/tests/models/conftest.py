"""A model adapter that talks to a scripted server over a real socket."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from glados.core.models.openai import OpenAIModel

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # the scripted server serves the tests of all packages

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
