"""agno: an agent with one tool, its events read as they come; telemetry is off."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agno.agent import Agent, RunCompletedEvent
from agno.models.openai import OpenAIChat

from benchmarks.loop import task


async def look(url: str, limit: int = 10) -> str:
    """Look at a page and return what is there."""
    return task.found()


@asynccontextmanager
async def open(url: str) -> AsyncGenerator[task.Run]:
    model = OpenAIChat(id=task.MODEL, base_url=url, api_key="none")
    agent = Agent(model=model, instructions=task.INSTRUCTIONS, tools=[look], telemetry=False)

    async def run(prompt: str) -> str:
        text = ""
        async for event in agent.arun(prompt, stream=True, stream_events=True):
            if isinstance(event, RunCompletedEvent):
                text = event.content
        return text

    yield run
