"""From what a model's service answered to the error that says what to check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from glados.core.errors import ModelError
from glados.core.models.errors import (
    ModelAuthFailed,
    ModelBadResponse,
    ModelContextTooLong,
    ModelNotFound,
    ModelRateLimited,
    ModelStreamCut,
    ModelTimeout,
    ModelUnavailable,
)
from glados.core.models.retry_after import retry_after

_TOO_LONG = re.compile(
    r"context.{0,9}(length|window|size)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceeds? .{0,40}tokens",
    re.IGNORECASE,
)
_KEY = re.compile(r"\b(sk|pk|key|gsk|xai)-[\w*.-]{4,}|(?<=Bearer )\S+")
_CREDENTIALS = re.compile(r"(?<=//)[^/@]*@|\?.*")
_DETAIL_LENGTH = 300
# What services write into an error in the middle of a stream, where there is no status.
_STATUS_OF_CODE = {
    "invalid_api_key": 401,
    "authentication_error": 401,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "model_not_found": 404,
    "context_length_exceeded": 400,
    "image_too_large": 400,
    "unsupported_image_media_type": 400,
}


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one model at one service, and never tells its key."""

    base_url: str
    model: str
    api_key: str | None = field(repr=False)

    @property
    def _service(self) -> str:
        return f"The model service at {shown_url(self.base_url)}"

    def answered(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> ModelError:
        """The service answered with an error status."""
        detail = self._detail(body)
        said = f"HTTP {status}, {detail!r}" if detail else f"HTTP {status}"
        data: dict[str, object] = {"status": status, "model": self.model, "detail": detail}
        if code := self._redacted(_code(body)):
            data["service_code"] = code
        if status in (401, 403):
            return self._auth_failed(status)
        if status == 408:
            return self.timed_out()
        seconds = retry_after(headers or {})
        if status == 429:
            return self._rate_limited(said, data, seconds)
        if status >= 500:
            data["retry_after"] = seconds
        kind, problem, check = self._kind(status, f"{_code(body)} {detail}")
        return kind(f"{self._service} {problem} ({said}): {check}.", **data)

    def _kind(self, status: int, said: str) -> tuple[type[ModelError], str, str]:
        """The error's class, what is wrong, and what to check."""
        if status == 404:
            check = "check MODEL_NORMAL, and that OPENAI_BASE_URL has the right path, mostly /v1"
            return ModelNotFound, f"has no model {self.model!r}", check
        if status == 413 or _TOO_LONG.search(said):
            check = "shorten the session, or name a model with a larger context in MODEL_NORMAL"
            return ModelContextTooLong, f"says that the request is too long for {self.model!r}", check
        if status >= 500:
            return ModelUnavailable, "failed", "try again, and check OPENAI_BASE_URL if it goes on"
        return ModelError, "refused the request", "check that MODEL_NORMAL names a chat model that can call tools"

    def _auth_failed(self, status: int) -> ModelAuthFailed:
        # Without what the service said: services quote the key that they refuse.
        return ModelAuthFailed(
            f"{self._service} refused the key (HTTP {status}): check OPENAI_API_KEY, and OPENAI_BASE_URL if the key is "
            "another service's.",
            status=status,
            model=self.model,
        )

    def _rate_limited(self, said: str, data: dict[str, object], seconds: float | None) -> ModelRateLimited:
        when = "later" if seconds is None else f"in {seconds:g} s"
        return ModelRateLimited(
            f"{self._service} takes no more requests for now ({said}): try again {when}, or check the quota of "
            "OPENAI_API_KEY.",
            **data,
            retry_after=seconds,
        )

    def in_stream(self, error: object) -> ModelError:
        """The service sent an error in the middle of a stream."""
        code = _code(error)
        status = int(code) if code.isdecimal() else 400 if code.startswith("invalid_") else 500
        status = _STATUS_OF_CODE.get(code, status)
        return self.answered(status if 400 <= status < 600 else 500, error)

    def unreachable(self, reason: object) -> ModelUnavailable:
        """Nobody answered."""
        detail = self._redacted(str(reason))
        return ModelUnavailable(
            f"{self._service} cannot be reached ({detail or 'no connection'}): check OPENAI_BASE_URL and that the "
            "service is running.",
            model=self.model,
            detail=detail,
        )

    def timed_out(self) -> ModelTimeout:
        """The service was silent for too long."""
        return ModelTimeout(
            f"{self._service} did not answer in time: try again, and check OPENAI_BASE_URL and whether "
            f"{self.model!r} (MODEL_NORMAL) is loaded there.",
            model=self.model,
        )

    def malformed(self, what: str) -> ModelBadResponse:
        """The service sent something that is no answer of a model."""
        detail = self._redacted(what)
        return ModelBadResponse(
            f"{self._service} sent something that is no answer ({detail!r}): check that OPENAI_BASE_URL is "
            "an OpenAI-compatible API, mostly with the path /v1.",
            model=self.model,
            detail=detail,
        )

    def cut(self) -> ModelStreamCut:
        """The stream ended before the answer was complete."""
        return ModelStreamCut(
            f"{self._service} ended the answer of {self.model!r} in the middle: try again, and check the service at "
            "OPENAI_BASE_URL if it goes on.",
            model=self.model,
        )

    def _detail(self, body: object) -> str:
        error = _mapping(body)
        message = error.get("message") or error.get("detail") or ("" if error else body)
        return self._redacted(message if isinstance(message, str) else "")

    def _redacted(self, text: str) -> str:
        if self.api_key:
            text = text.replace(self.api_key, "***")
        return _KEY.sub("***", " ".join(text.split()))[:_DETAIL_LENGTH]


def _mapping(body: object) -> Mapping[str, Any]:
    """The error object, with or without the `error` around it."""
    if not isinstance(body, Mapping):
        return {}
    found = cast("Mapping[str, Any]", body)
    inner = found.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else found


def _code(body: object) -> str:
    error = _mapping(body)
    return str(error.get("code") or error.get("type") or "")


def shown_url(url: str) -> str:
    """An address without the credentials that may be in it."""
    return _CREDENTIALS.sub("", url)
