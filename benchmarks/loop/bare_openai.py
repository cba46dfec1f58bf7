"""The loop that people write by hand: the SDK's typed stream, pydantic for the arguments, gather for the calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI
from pydantic import BaseModel

from benchmarks.loop import task


class Look(BaseModel):
    url: str
    limit: int = 10


class Call(BaseModel):
    id: str
    name: str
    arguments: str = ""


TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "look", "description": task.DESCRIPTION, "parameters": Look.model_json_schema()},
    }
]


async def look(arguments: str) -> str:
    Look.model_validate_json(arguments)
    return task.found()


async def run(client: AsyncOpenAI, prompt: str) -> str:
    """Ask, call, and ask again until there are no calls."""
    messages: list[Any] = [{"role": "system", "content": task.INSTRUCTIONS}, {"role": "user", "content": prompt}]
    while True:
        text, calls = await ask(client, messages)
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text or None, "tool_calls": [written(c) for c in calls]})
        results = await asyncio.gather(*(look(call.arguments) for call in calls))
        for call, result in zip(calls, results, strict=True):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def ask(client: AsyncOpenAI, messages: list[Any]) -> tuple[str, list[Call]]:
    """One streamed answer: its text and its calls."""
    text: list[str] = []
    calls: dict[int, Call] = {}
    stream = await client.chat.completions.create(
        model=task.MODEL, messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        if delta.content:
            text.append(delta.content)
        for piece in delta.tool_calls or ():
            assert piece.function is not None
            if piece.id:
                calls[piece.index] = Call(id=piece.id, name=piece.function.name or "")
            calls[piece.index].arguments += piece.function.arguments or ""
    return "".join(text), list(calls.values())


def written(call: Call) -> dict[str, Any]:
    """A call as the next request repeats it."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


@asynccontextmanager
async def open(url: str) -> AsyncGenerator[task.Run]:
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        yield lambda prompt: run(client, prompt)
