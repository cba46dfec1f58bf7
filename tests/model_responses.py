"""A scripted reply in the form of the responses API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tests.model_script import Call, Reply

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def events(reply: Reply, body: Mapping[str, Any]) -> list[str]:
    """The data of the events with which a reply is streamed."""
    if reply.events is not None:
        return [event if isinstance(event, str) else json.dumps(event) for event in reply.events]
    numbers = count()
    return [json.dumps({**event, "sequence_number": next(numbers)}) for event in _events(reply, body)]


def whole(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as one object."""
    return _response(reply, body, _status(reply), _output(reply, body))


def _events(reply: Reply, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response(reply, body, "in_progress", [])}
    output = _output(reply, body)
    if reply.split == "together":  # every item is announced before the first one is complete
        yield from (_item("added", index, _begun(item)) for index, item in enumerate(output))
    for index, item in enumerate(output):
        if reply.split != "together":
            yield _item("added", index, _begun(item))
        place = {"item_id": item["id"], "output_index": index}
        yield from ({**event, **place} for event in _pieces(reply, item))
        yield _item("done", index, item)
    if reply.finish_reason:
        status = _status(reply)
        yield {"type": f"response.{status}", "response": _response(reply, body, status, output)}


def _pieces(reply: Reply, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What is streamed of an item between its beginning and its end."""
    if item["type"] == "reasoning":
        part = {"type": "summary_text", "text": ""}
        yield {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": part}
        yield {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": reply.thinking}
        yield {"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": reply.thinking}
    elif item["type"] == "message":
        part = {"type": "output_text", "text": "", "annotations": []}
        yield {"type": "response.content_part.added", "content_index": 0, "part": part}
        for piece in reply.pieces():
            yield {"type": "response.output_text.delta", "content_index": 0, "delta": piece}
        yield {"type": "response.output_text.done", "content_index": 0, "text": reply.text}
        yield {"type": "response.content_part.done", "content_index": 0, "part": {**part, "text": reply.text}}
    else:
        text: str = item["arguments"]
        half = len(text) // 2 if reply.split == "halves" else 0
        for piece in (text[:half], text[half:]) if half else (text,):
            yield {"type": "response.function_call_arguments.delta", "delta": piece}
        yield {"type": "response.function_call_arguments.done", "arguments": text}


def _item(what: str, index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": f"response.output_item.{what}", "output_index": index, "item": item}


def _begun(item: Mapping[str, Any]) -> dict[str, Any]:
    empty = {key: [] for key in ("content", "summary") if key in item}
    return {**item, "status": "in_progress", **empty, **({"arguments": ""} if "arguments" in item else {})}


def _output(reply: Reply, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "status": "completed"})
        if "reasoning.encrypted_content" in body.get("include", ()):
            output[-1]["encrypted_content"] = f"encrypted: {reply.thinking}"
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
        output.append({**message, "status": "completed"})
    return [*output, *(_call(number, call) for number, call in enumerate(reply.calls))]


def _call(number: int, call: Call) -> dict[str, Any]:
    ids = {"id": f"fc_{number}", "call_id": call.id or None}
    return {"type": "function_call", **ids, "status": "completed", **call.to_dict()["function"]}


def _status(reply: Reply) -> str:
    if reply.finish_reason == "failed":
        return "failed"
    return "incomplete" if reply.finish_reason in _INCOMPLETE else "completed"


def _response(reply: Reply, body: Mapping[str, Any], status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": body.get("model"),
        "status": status,
        "error": {"code": reply.code or "server_error", "message": reply.error} if status == "failed" else None,
        "incomplete_details": {"reason": _INCOMPLETE[str(reply.finish_reason)]} if status == "incomplete" else None,
        "output": output,
        "usage": _usage(reply.usage) if reply.usage is not None and status != "in_progress" else None,
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": usage.get("prompt_tokens_details", {}),
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": usage.get("completion_tokens_details", {}),
        "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
    }
