"""A stream of chat completion chunks, from its bytes to plain dicts to deltas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import from_json

from glados.core.messages import Usage
from glados.core.model import ModelDelta, ModelDone, Stop, TextDelta, ThinkingDelta, ToolCallDelta
from glados.core.models.failures import Failures
from glados.core.models.tool_calls import ToolCalls

_STOPS: dict[str, Stop] = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}


def _decoded(data: bytes, failures: Failures) -> dict[str, Any]:
    """One JSON object; an error in it is raised."""
    try:
        value = from_json(data)
    except ValueError:
        value = _decoded_leniently(data, failures)
    if not isinstance(value, dict):
        raise failures.malformed(data.decode("utf-8", "replace"))
    chunk = cast("dict[str, Any]", value)
    if error := chunk.get("error"):
        raise failures.in_stream(error)
    return chunk


def _decoded_leniently(data: bytes, failures: Failures) -> object:
    # Some services cut an emoji between two chunks: half of it is valid JSON, but no text that can be stored.
    try:
        return json.loads(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        raise failures.malformed(data.decode("utf-8", "replace")) from None


class Answer:
    """What one stream has said so far: server-sent events in, deltas out.

    `finished` once the service said why it stopped (without that the answer is not complete), `ended` once it said
    that nothing follows.
    """

    def __init__(self, calls: ToolCalls, model: str, failures: Failures) -> None:
        self.finished = False
        self.ended = False
        self._calls = calls
        self._model = model
        self._failures = failures
        self._finish = ""
        self._usage: Usage | None = None
        self._rest = b""
        self._event = b""
        self._text = ""
        self._thinking = False

    def feed(self, piece: bytes) -> Iterator[ModelDelta]:
        """The deltas of a piece of the stream; text that arrives in one piece is told in one."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                self._event = self._event + b"\n" + line[5:] if self._event else line[5:]
            elif not line and self._event:
                event, self._event = self._event, b""
                if event.strip() == b"[DONE]":
                    self.ended = True
                    break
                chunk = _decoded(event, self._failures)
                try:
                    yield from self._take(chunk)
                except (AttributeError, LookupError, TypeError):  # JSON, but not in the shape of a chunk
                    raise self._failures.malformed(event.decode("utf-8", "replace")) from None
        yield from self._flush()

    def done(self) -> ModelDone:
        """The end of the answer; one that is not finished was cut."""
        if not self.finished:
            raise self._failures.cut()
        return ModelDone(self._stop(), self._usage, self._model)

    def _take(self, chunk: dict[str, Any]) -> Iterator[ModelDelta]:
        if usage := chunk.get("usage"):
            self._usage = _usage(usage)
        choices = chunk.get("choices")
        if not choices:
            return
        choice: dict[str, Any] = choices[0]
        self._model = chunk.get("model") or self._model
        # A service that does not stream sends the whole message at once.
        delta: dict[str, Any] = choice.get("delta") or choice.get("message") or {}
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            yield from self._said(thought, thinking=True)
        if text := delta.get("content") or delta.get("refusal"):
            yield from self._said(text, thinking=False)
        if calls := delta.get("tool_calls"):
            yield from self._flush()
            yield from map(ToolCallDelta, self._calls.take(calls))
        if (finish := choice.get("finish_reason")) and not self.finished:
            self.finished = True
            self._finish = finish
            yield from self._flush()
            yield from map(ToolCallDelta, self._calls.finish(cut=self._stop() in ("length", "content_filter")))

    def _said(self, text: str, *, thinking: bool) -> Iterator[ModelDelta]:
        if thinking is not self._thinking:
            yield from self._flush()
            self._thinking = thinking
        self._text += text

    def _flush(self) -> Iterator[ModelDelta]:
        if text := self._text:
            self._text = ""
            yield ThinkingDelta(text) if self._thinking else TextDelta(text)

    def _stop(self) -> Stop:
        """Why the model stopped; services do not agree on the word for an answer that asks for tools."""
        stop = _STOPS.get(self._finish, "end")
        if stop in ("end", "tool_calls"):
            return "tool_calls" if self._calls else "end"
        return stop


def _usage(usage: dict[str, Any]) -> Usage:
    prompt: dict[str, Any] = usage.get("prompt_tokens_details") or {}
    completion: dict[str, Any] = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=prompt.get("cached_tokens") or 0,
        reasoning_tokens=completion.get("reasoning_tokens") or 0,
    )
