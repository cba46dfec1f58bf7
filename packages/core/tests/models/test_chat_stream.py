"""Server-sent events as services really write them."""

from __future__ import annotations

import asyncio

import pytest

from glados.core.messages import user_message
from glados.core.model import ModelDone, ModelRequest, TextDelta
from glados.core.models.openai import OpenAIModel

HI = '{"model":"m","choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
HI_IN_TWO_LINES = HI.replace(',"choices"', ',\ndata: "choices"')


@pytest.mark.parametrize(
    "body",
    [
        f"data: {HI}\n\ndata: [DONE]\n\n",
        f"data:{HI}\n\ndata:[DONE]\n\n",
        f": waiting\r\n\r\nevent: chunk\r\nid: 1\r\ndata: {HI}\r\n\r\ndata: [DONE]\r\n\r\n",
        f"data: {HI_IN_TWO_LINES}\n\n",
        f"data: {HI}\n",
        f"data: {HI}",
        f"data: {HI}\n\ndata: [DONE]\n\ndata: after the end\n\n",
    ],
)
async def test_every_way_to_write_events_is_read(body: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("m", base_url=f"http://127.0.0.1:{port}", max_retries=0)
        deltas = [delta async for delta in model.stream(ModelRequest("", [user_message("Hi")], ()))]
        await model.close()

    assert deltas == [TextDelta("Hi"), ModelDone("end", None, "m")]
