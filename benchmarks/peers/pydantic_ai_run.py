"""pydantic-ai: an agent with one tool, its events read as they come."""

# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pydantic_ai import Agent, AgentRunResultEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from benchmarks.loop import task

LIMITS = UsageLimits(request_limit=None)


async def look(url: str, limit: int = 10) -> str:
    """Look at a page and return what is there."""
    return task.found()


@asynccontextmanager
async def open(url: str) -> AsyncGenerator[task.Run]:
    model = OpenAIChatModel(task.MODEL, provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, instructions=task.INSTRUCTIONS, tools=[look])

    async def run(prompt: str) -> str:
        text = ""
        async with agent.run_stream_events(prompt, usage_limits=LIMITS) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    text = event.result.output
        return text

    yield run
