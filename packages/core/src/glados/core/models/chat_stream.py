"""A stream of chat completion chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from glados.core.messages import ThinkingPart, Usage
from glados.core.model import ModelDelta, Stop, ThinkingDone, ToolCallDelta
from glados.core.models.answer import Answer
from glados.core.models.encoded import EncodedRequest
from glados.core.models.failures import Failures
from glados.core.models.tool_calls import CallIds, ToolCalls

_STOPS: dict[str, Stop] = {
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
# Where services put what the model thinks; some want it back in the same field.
_THOUGHTS = ("reasoning_content", "reasoning")


class ChatAnswer(Answer):
    """An answer in the form of the chat completions API."""

    def __init__(self, request: EncodedRequest, model: str, failures: Failures, service: str) -> None:
        super().__init__(model, failures, service)
        self._calls = ToolCalls(request.names, CallIds(request.call_ids))
        self._finish = ""
        self._thought = ""
        self._field = ""

    @property
    def stop(self) -> Stop:
        """Why the model stopped; services do not agree on the word for an answer that asks for tools."""
        stop = _STOPS.get(self._finish, "end")
        if stop in ("end", "tool_calls"):
            return "tool_calls" if self._calls else "end"
        return stop

    def take(self, event: dict[str, Any]) -> Iterator[ModelDelta]:
        """The deltas of one chunk."""
        if usage := event.get("usage"):
            self.usage = _usage(usage)
        choices = event.get("choices")
        if not choices:
            return
        choice: dict[str, Any] = choices[0]
        self.model = event.get("model") or self.model
        # A service that does not stream sends the whole message at once.
        delta: dict[str, Any] = choice.get("delta") or choice.get("message") or {}
        for field in _THOUGHTS:
            if thought := delta.get(field):
                self._field = self._field or field
                self._thought += thought
                yield from self.said(thought, thinking=True)
                break
        if text := delta.get("content") or delta.get("refusal"):
            yield from self._thought_through()
            yield from self.said(text, thinking=False)
        if calls := delta.get("tool_calls"):
            yield from self._thought_through()
            yield from self.flush()
            yield from map(ToolCallDelta, self._calls.take(calls))
        if (finish := choice.get("finish_reason")) and not self.finished:
            yield from self._end(finish)

    def _end(self, finish: str) -> Iterator[ModelDelta]:
        self.finished = True
        self._finish = finish
        yield from self._thought_through()
        yield from self.flush()
        yield from map(ToolCallDelta, self._calls.finish(cut=self.stop in ("length", "content_filter")))

    def _thought_through(self) -> Iterator[ModelDelta]:
        """Tell the thought that ends here."""
        if self._thought:
            yield from self.flush()
            yield ThinkingDone(ThinkingPart(self._thought, {"service": self.service, "field": self._field}))
            self._thought = ""


def _usage(usage: dict[str, Any]) -> Usage:
    prompt: dict[str, Any] = usage.get("prompt_tokens_details") or {}
    completion: dict[str, Any] = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=prompt.get("cached_tokens") or 0,
        reasoning_tokens=completion.get("reasoning_tokens") or 0,
    )
