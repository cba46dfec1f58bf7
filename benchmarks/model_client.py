"""The model adapter against the SDK's own typed stream, by both APIs, in CPU time of the client alone.

One round is one streamed model call that asks for four tools, and their results; the history grows with each round.
The server is another process. Run it with `.venv/bin/python benchmarks/model_client.py`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.remove(str(Path(__file__).resolve().parent))  # html.py in it would be taken for the standard library's

from openai import AsyncOpenAI

from glados.core.messages import Message, ToolCallPart, ToolResultPart, user_message
from glados.core.model import ModelRequest, TextDelta, ToolCallDelta
from glados.core.models.connection import Connection
from glados.core.models.openai import OpenAIModel
from glados.core.tools import tool

SERVER = Path(__file__).resolve().parents[1] / "tests" / "model_server.py"
ROUNDS = (20, 200)
CALLS = 4
TEXT_CHUNKS = 2000
RESULT = "A line of what the tool found on the page.\n" * 20
PAUSE = 0.001


@tool("bench.look", read_only=True)
async def look(url: str, limit: int = 10) -> str:
    """Look at a page and return what is there."""
    return url + str(limit)


def rounds_script() -> dict[str, Any]:
    arguments = {"url": "https://example.com/a/page", "limit": 20}
    reply = {"calls": [{"name": "bench__look", "arguments": arguments, "id": f"call_{n}"} for n in range(CALLS)]}
    together = {"text": "word " * TEXT_CHUNKS, "chunks": TEXT_CHUNKS}
    return {
        "rules": [
            {"when": "write", "role": "user", "reply": together},
            {"when": "drip", "role": "user", "reply": {**together, "delay": PAUSE}},
            {"when": "", "reply": reply},
        ]
    }


async def adapter_rounds(model: OpenAIModel, rounds: int) -> None:
    history, memo = [user_message("Go")], dict[str, Any]()
    for _ in range(rounds):
        request = ModelRequest("You look at pages.", history, (look,), memo=memo)
        calls = [delta.call async for delta in model.stream(request) if isinstance(delta, ToolCallDelta)]
        assert len(calls) == CALLS
        results = tuple(ToolResultPart(call.id, call.tool_id, RESULT) for call in calls)
        history += [Message("assistant", tuple(calls)), Message("tool", results)]


async def sdk_rounds(client: AsyncOpenAI, rounds: int) -> None:
    function = {"name": "bench__look", "description": look.description, "parameters": look.input_schema}
    system = {"role": "system", "content": "You look at pages."}
    messages: list[Any] = [system, {"role": "user", "content": "Go"}]
    tools: Any = [{"type": "function", "function": function}]
    for _ in range(rounds):
        calls: dict[int, ToolCallPart] = {}
        stream = await client.chat.completions.create(
            model="bench", messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            for piece in (chunk.choices[0].delta.tool_calls or ()) if chunk.choices else ():
                function_piece = piece.function
                assert function_piece is not None
                known = calls.get(piece.index) or ToolCallPart(piece.id or "", function_piece.name or "", "")
                arguments = known.arguments + (function_piece.arguments or "")
                calls[piece.index] = ToolCallPart(known.id, known.tool_id, arguments)
        assert len(calls) == CALLS
        messages.append({"role": "assistant", "content": None, "tool_calls": [_sdk_call(c) for c in calls.values()]})
        messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls.values()]


async def sdk_responses_rounds(client: AsyncOpenAI, rounds: int) -> None:
    tool = {"type": "function", "name": "bench__look", "description": look.description, "strict": False}
    tools: Any = [{**tool, "parameters": look.input_schema}]
    history: list[Any] = [{"role": "user", "content": "Go"}]
    for _ in range(rounds):
        stream = await client.responses.create(
            model="bench", instructions="You look at pages.", input=history, tools=tools, stream=True, store=False
        )
        ended: list[Any] = [event.item async for event in stream if event.type == "response.output_item.done"]
        calls = [item for item in ended if item.type == "function_call"]
        assert len(calls) == CALLS
        for call in calls:
            kept = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
            history.append({"type": "function_call", **kept})
        history += [{"type": "function_call_output", "call_id": call.call_id, "output": RESULT} for call in calls]


async def sdk_responses_text(client: AsyncOpenAI, prompt: str) -> None:
    said: Any = [{"role": "user", "content": prompt}]
    stream = await client.responses.create(model="bench", input=said, stream=True, store=False)
    text = "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
    assert len(text) == 5 * TEXT_CHUNKS


def _sdk_call(call: ToolCallPart) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.tool_id, "arguments": call.arguments}}


async def adapter_text(model: OpenAIModel, prompt: str) -> None:
    request = ModelRequest("", [user_message(prompt)], ())
    text = "".join([delta.text async for delta in model.stream(request) if isinstance(delta, TextDelta)])
    assert len(text) == 5 * TEXT_CHUNKS


async def sdk_text(client: AsyncOpenAI, prompt: str) -> None:
    stream = await client.chat.completions.create(
        model="bench", messages=[{"role": "user", "content": prompt}], stream=True
    )
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
    assert len(text) == 5 * TEXT_CHUNKS


async def cpu(run: Callable[[], Awaitable[None]], times: int = 3) -> float:
    """The least CPU seconds of some runs."""
    seconds: list[float] = []
    for _ in range(times):
        begun = time.process_time()
        await run()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def row(what: str, ours: float, theirs: float, unit: str) -> None:
    print(f"{what:38} {ours:9.2f} {theirs:9.2f} {unit:4} {ours / theirs:6.2f} x")


async def compare(url: str) -> None:
    connection, client = Connection(base_url=url), AsyncOpenAI(base_url=url, api_key="none")
    print(f"{'CPU of the client':38} {'glados':>9} {'SDK':>9}")
    await compare_api(OpenAIModel("bench", connection, "chat"), client, sdk_rounds, sdk_text)
    await compare_api(OpenAIModel("bench", connection, "responses"), client, sdk_responses_rounds, sdk_responses_text)
    await connection.close()
    await client.close()


async def compare_api(
    model: OpenAIModel,
    client: AsyncOpenAI,
    rounds_by_sdk: Callable[[AsyncOpenAI, int], Awaitable[None]],
    text_by_sdk: Callable[[AsyncOpenAI, str], Awaitable[None]],
) -> None:
    await adapter_text(model, "write")
    await text_by_sdk(client, "write")  # imports and connections of the first call are not measured
    print(f"-- {model.api}")
    for rounds in ROUNDS:
        times = 3 if rounds < 100 else 1
        ours = await cpu(lambda n=rounds: adapter_rounds(model, n), times) / rounds * 1e3
        theirs = await cpu(lambda n=rounds: rounds_by_sdk(client, n), times) / rounds * 1e3
        row(f"a round of {CALLS} calls, {rounds} rounds", ours, theirs, "ms")
    for prompt, what in (("write", "a chunk of text, as fast as it goes"), ("drip", "a chunk of text, 1 ms apart")):
        ours = await cpu(lambda p=prompt: adapter_text(model, p)) / TEXT_CHUNKS * 1e6
        theirs = await cpu(lambda p=prompt: text_by_sdk(client, p)) / TEXT_CHUNKS * 1e6
        row(what, ours, theirs, "us")


def main() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as script:
        json.dump(rounds_script(), script)
        script.flush()
        command = [sys.executable, str(SERVER), "--script", script.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                asyncio.run(compare(server.stdout.readline().strip()))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
