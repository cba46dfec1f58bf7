"""A stream of the responses API's events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from glados.core.messages import ThinkingPart, Usage
from glados.core.model import ModelDelta, Stop, ThinkingDone, ToolCallDelta
from glados.core.models.answer import Answer
from glados.core.models.encoded import EncodedRequest
from glados.core.models.failures import Failures
from glados.core.models.responses_calls import ResponsesCalls
from glados.core.models.tool_calls import CallIds

_CUTS: dict[str, Stop] = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "content_filter"}
_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THOUGHT = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.done")
_BETWEEN_THOUGHTS = "\n\n"


class ResponsesAnswer(Answer):
    """An answer in the form of the responses API."""

    def __init__(self, request: EncodedRequest, model: str, failures: Failures, service: str) -> None:
        super().__init__(model, failures, service)
        self._calls = ResponsesCalls(request.names, CallIds(request.call_ids))
        self._cut: Stop | None = None
        self._spoken: set[Any] = set()  # the outputs of which some text was told
        self._closed: set[Any] = set()  # the outputs that are complete

    @property
    def stop(self) -> Stop:
        """Why the model stopped."""
        return self._cut or ("tool_calls" if self._calls else "end")

    def take(self, event: dict[str, Any]) -> Iterator[ModelDelta]:
        """The deltas of one event; most kinds of events only repeat what others say."""
        kind: str = event.get("type") or ""
        if kind in _TEXT:
            yield from self._say(event, thinking=False)
        elif kind in _THOUGHT:
            yield from self._say(event, thinking=True)
        elif kind == "response.function_call_arguments.delta":
            self._calls.more(event)
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            yield from self.said(_BETWEEN_THOUGHTS, thinking=True)
        elif kind == "response.output_item.added":
            if event["item"].get("type") == "function_call":
                self._calls.begin(event.get("output_index"), event["item"])
        elif kind == "response.function_call_arguments.done":
            yield from self.flush()
            yield from map(ToolCallDelta, self._calls.written(event))
        elif kind == "response.output_item.done":
            yield from self._item_done(event.get("output_index"), event["item"])
        elif kind in _ENDS:
            yield from self._end({"status": kind.rpartition(".")[2], **event["response"]})
        elif kind == "error":
            raise self.failures.in_stream(event)
        elif event.get("object") == "response":  # a service that does not stream sends the whole response at once
            yield from self._end(event)

    def _say(self, event: dict[str, Any], *, thinking: bool) -> Iterator[ModelDelta]:
        self._spoken.add(event.get("output_index"))
        yield from self.said(event["delta"], thinking=thinking)

    def _item_done(self, index: Any, item: dict[str, Any]) -> Iterator[ModelDelta]:
        if item.get("type") == "function_call":
            yield from self.flush()
            yield from map(ToolCallDelta, self._calls.end(index, item))
        else:
            yield from self._close(index, item)

    def _close(self, index: Any, item: dict[str, Any]) -> Iterator[ModelDelta]:
        """Tell what a message or a thought is in the end, if nobody said it before."""
        kind: str = item.get("type") or ""
        if kind in ("message", "reasoning") and index not in self._closed:
            text = _thought(item) if kind == "reasoning" else _message(item)
            if index not in self._spoken:
                yield from self.said(text, thinking=kind == "reasoning")
            self._closed.add(index)
            yield from self.flush()
            if kind == "reasoning" and (text or item.get("encrypted_content")):
                yield ThinkingDone(ThinkingPart(text, self._kept(item)))

    def _end(self, response: dict[str, Any]) -> Iterator[ModelDelta]:
        if response.get("status") in ("failed", "cancelled"):
            raise self.failures.in_stream(response.get("error") or {"message": f"response {response['status']}"})
        if response.get("status") == "incomplete":
            details: dict[str, Any] = response.get("incomplete_details") or {}
            self._cut = _CUTS.get(details.get("reason") or "", "length")
        if usage := response.get("usage"):
            self.usage = _usage(usage)
        self.model = response.get("model") or self.model
        output: list[dict[str, Any]] = response.get("output") or []
        if None not in self._spoken | self._closed:  # without an index it is not known what was told
            for index, item in enumerate(output):
                yield from self._close(index, item)
        calls = [item for item in output if item.get("type") == "function_call"]
        yield from map(ToolCallDelta, self._calls.settle(calls))
        yield from map(ToolCallDelta, self._calls.finish(cut=self._cut is not None))
        self.finished = self.ended = True

    def _kept(self, item: dict[str, Any]) -> dict[str, Any] | None:
        """What the service needs to read the thought again; without either kind of content it could not."""
        kept: dict[str, Any]
        if encrypted := item.get("encrypted_content"):
            kept = {"type": "reasoning", "summary": item.get("summary") or [], "encrypted_content": encrypted}
        elif item.get("content"):
            kept = {key: value for key, value in item.items() if key != "status"}
        else:
            return None
        return {"service": self.service, "item": kept}


def _thought(item: dict[str, Any]) -> str:
    parts: list[dict[str, Any]] = item.get("summary") or item.get("content") or []
    return _BETWEEN_THOUGHTS.join(part.get("text") or "" for part in parts)


def _message(item: dict[str, Any]) -> str:
    parts: list[dict[str, Any]] = item.get("content") or []
    return "".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _usage(usage: dict[str, Any]) -> Usage:
    given: dict[str, Any] = usage.get("input_tokens_details") or {}
    made: dict[str, Any] = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        cached_tokens=given.get("cached_tokens") or 0,
        reasoning_tokens=made.get("reasoning_tokens") or 0,
    )
