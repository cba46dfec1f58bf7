"""openai-agents: an agent with one tool, its events read as they come; tracing is off."""

# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from benchmarks.loop import task


@function_tool
async def look(url: str, limit: int = 10) -> str:
    """Look at a page and return what is there."""
    return task.found()


@asynccontextmanager
async def open(url: str) -> AsyncGenerator[task.Run]:
    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        model = OpenAIChatCompletionsModel(task.MODEL, client)
        agent = Agent(name="bench", instructions=task.INSTRUCTIONS, tools=[look], model=model)

        async def run(prompt: str) -> str:
            result = Runner.run_streamed(agent, prompt, max_turns=10_000)
            async for _ in result.stream_events():
                pass
            return str(result.final_output)

        yield run
