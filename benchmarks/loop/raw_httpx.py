"""The floor: httpx, lines of server-sent events, plain dicts, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from benchmarks.loop import task

TOOL = {
    "name": "look",
    "description": task.DESCRIPTION,
    "parameters": {
        "type": "object",
        "properties": {"url": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        "required": ["url"],
    },
}


async def look(url: str, limit: int = 10) -> str:
    return task.found()


async def run(client: httpx.AsyncClient, url: str, prompt: str) -> str:
    """Ask, call, and ask again until there are no calls."""
    messages: list[Any] = [{"role": "system", "content": task.INSTRUCTIONS}, {"role": "user", "content": prompt}]
    while True:
        text, calls = await ask(client, url, messages)
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        results = await asyncio.gather(*(look(**json.loads(call["function"]["arguments"])) for call in calls))
        for call, result in zip(calls, results, strict=True):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


async def ask(client: httpx.AsyncClient, url: str, messages: list[Any]) -> tuple[str, list[dict[str, Any]]]:
    """One streamed answer: its text and its calls."""
    body = {
        "model": task.MODEL,
        "messages": messages,
        "tools": [{"type": "function", "function": TOOL}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    text: list[str] = []
    calls: list[dict[str, Any]] = []
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                if content := delta.get("content"):
                    text.append(content)
                for piece in delta.get("tool_calls", ()):
                    if "id" in piece:
                        calls.append({"id": piece["id"], "type": "function", "function": piece["function"]})
                    else:
                        calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return "".join(text), calls


@asynccontextmanager
async def open(url: str) -> AsyncGenerator[task.Run]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    async with httpx.AsyncClient(limits=limits, timeout=600) as client:
        yield lambda prompt: run(client, url, prompt)
