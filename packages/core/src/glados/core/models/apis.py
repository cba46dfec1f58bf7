"""OpenAI's two APIs: where each is, how it is asked and how it answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glados.core.errors import ModelError
from glados.core.model import ModelRequest
from glados.core.models.answer import Answer
from glados.core.models.chat_request import ChatRequest
from glados.core.models.chat_stream import ChatAnswer
from glados.core.models.encoded import EncodedRequest
from glados.core.models.failures import Failures
from glados.core.models.refusals import Refusals
from glados.core.models.responses_request import ResponsesRequest
from glados.core.models.responses_stream import ResponsesAnswer

_NO_PATH = (404, 405, 501)
_OTHER_API = re.compile(r"responses api|chat completions|v1/(responses|chat)|unsupported endpoint", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Api:
    """One way to ask a model."""

    name: str
    path: str
    request: type[EncodedRequest]
    answer: Callable[[EncodedRequest, str, Failures, str], Answer]
    options: Callable[[str, ModelRequest, Refusals], dict[str, Any]]


def is_missing(error: ModelError) -> bool:
    """Whether a refusal may mean that the service, or the model there, is to be asked by the other API."""
    if error.data.get("service_code") == "model_not_found":
        return False
    status = error.data.get("status")
    return status in _NO_PATH or (status == 400 and bool(_OTHER_API.search(str(error.data.get("detail")))))


def _chat_options(model: str, request: ModelRequest, refusals: Refusals) -> dict[str, Any]:
    options: dict[str, Any] = {"model": model, "stream": True}
    if refusals.takes("stream_options"):
        options["stream_options"] = {"include_usage": True}
    if request.max_output_tokens is not None:
        # OpenAI's newer models refuse the old name, most other services do not know the new one.
        key = "max_tokens" if refusals.takes("max_tokens") else "max_completion_tokens"
        options[key] = request.max_output_tokens
    if effort := refusals.effort(request.thinking):
        options["reasoning_effort"] = effort
    return options


def _responses_options(model: str, request: ModelRequest, refusals: Refusals) -> dict[str, Any]:
    options: dict[str, Any] = {"model": model, "stream": True, "store": False}
    if refusals.takes("include"):
        options["include"] = ["reasoning.encrypted_content"]
    if request.max_output_tokens is not None:
        options["max_output_tokens"] = request.max_output_tokens
    if effort := refusals.effort(request.thinking):
        summary = {"summary": "auto"} if request.thinking != "off" and refusals.takes("summary") else {}
        options["reasoning"] = {"effort": effort, **summary}
    return options


CHAT = Api("chat", "/chat/completions", ChatRequest, ChatAnswer, _chat_options)
RESPONSES = Api("responses", "/responses", ResponsesRequest, ResponsesAnswer, _responses_options)
