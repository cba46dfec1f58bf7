"""An answer while it is streamed: from server-sent events to plain dicts to deltas."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import from_json

from glados.core.messages import Usage
from glados.core.model import ModelDelta, ModelDone, Stop, TextDelta, ThinkingDelta
from glados.core.models.failures import Failures


class Answer:
    """What one stream has said so far; a subclass reads the events of one API.

    `finished` once the service said why it stopped (without that the answer is not complete), `ended` once it said
    that nothing follows. `service` is the mark by which thoughts are known again as this service's.
    """

    def __init__(self, model: str, failures: Failures, service: str) -> None:
        self.finished = False
        self.ended = False
        self.model = model
        self.service = service
        self.failures = failures
        self.usage: Usage | None = None
        self._rest = b""
        self._event = b""
        self._text = ""
        self._thinking = False

    @property
    @abstractmethod
    def stop(self) -> Stop:
        """Why the model stopped."""

    @abstractmethod
    def take(self, event: dict[str, Any]) -> Iterator[ModelDelta]:
        """The deltas of one event."""

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
                yield from self._taken(event)
        yield from self.flush()

    def done(self) -> ModelDone:
        """The end of the answer; one that is not finished was cut."""
        if not self.finished:
            raise self.failures.cut()
        return ModelDone(self.stop, self.usage, self.model)

    def said(self, text: str, *, thinking: bool) -> Iterator[ModelDelta]:
        """Add to the text that waits; what is of the other kind is told first."""
        if thinking is not self._thinking:
            yield from self.flush()
            self._thinking = thinking
        self._text += text

    def flush(self) -> Iterator[ModelDelta]:
        """Tell the text that waits."""
        if text := self._text:
            self._text = ""
            yield ThinkingDelta(text) if self._thinking else TextDelta(text)

    def _taken(self, data: bytes) -> Iterator[ModelDelta]:
        event = _decoded(data, self.failures)
        try:
            yield from self.take(event)
        except (AttributeError, LookupError, TypeError):  # JSON, but not in the shape of an event
            raise self.failures.malformed(data.decode("utf-8", "replace")) from None


def _decoded(data: bytes, failures: Failures) -> dict[str, Any]:
    """One JSON object; an error in it is raised."""
    try:
        value = from_json(data)
    except ValueError:
        value = _decoded_leniently(data, failures)
    if not isinstance(value, dict):
        raise failures.malformed(data.decode("utf-8", "replace"))
    event = cast("dict[str, Any]", value)
    if error := event.get("error"):
        raise failures.in_stream(error)
    return event


def _decoded_leniently(data: bytes, failures: Failures) -> object:
    # Some services cut an emoji between two events: half of it is valid JSON, but no text that can be stored.
    try:
        return json.loads(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        raise failures.malformed(data.decode("utf-8", "replace")) from None
