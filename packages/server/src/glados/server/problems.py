"""Errors on the wire: problem details (RFC 9457) with the same `code` as everywhere else.

status  who acts                                      codes
400     the client's HTTP or JSON is broken           invalid_json, invalid_host, invalid_http, invalid_target
401     the client has no token                       unauthorized
403     a rule, the mode or a person said no          permission_denied, host_not_allowed, origin_not_allowed
404     nothing has this name                         session_not_found, tool_not_found, question_not_found and others
409     somebody else was first                       session_busy, session_exists, question_answered and others
422     the request does not fit, or the tool failed  invalid_request, invalid_input, tool_failed and a tool's own
500     plugin or operator                            plugin_failed, configuration_error, internal_error
502     the model's service                           model_failed
503     not yet, or no longer                         not_ready
504     it took too long                              tool_timeout, timeout
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glados.core.errors import GladosError
from glados.server.wire import to_json

logger = logging.getLogger(__name__)

# By code; a code that is not listed has the status of the nearest base class whose code is.
STATUS: Mapping[str, int] = {
    "internal_error": 500,
    "configuration_error": 500,
    "plugin_failed": 500,
    "invalid_request": 422,
    "invalid_input": 422,
    "invalid_answer": 422,
    "tool_not_found": 404,
    "session_not_found": 404,
    "entry_not_found": 404,
    "question_not_found": 404,
    "rule_not_found": 404,
    "session_busy": 409,
    "session_exists": 409,
    "session_idle": 409,
    "question_answered": 409,
    "conflict": 409,
    "aborted": 409,
    "permission_denied": 403,
    "tool_failed": 422,
    "tool_timeout": 504,
    "timeout": 504,
    "model_failed": 502,
}
HTTP_CODES: Mapping[int, str] = {404: "not_found", 405: "method_not_allowed"}


class ProblemResponse(Response):
    """One problem as an answer, over HTTP or instead of a WebSocket."""

    media_type = "application/problem+json"

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        data: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        body = to_json(
            {
                "type": "about:blank",
                "title": HTTPStatus(status).phrase,
                "status": status,
                "detail": detail,
                "code": code,
                "data": dict(data or {}),
            }
        )
        super().__init__(body, status, dict(headers or {}))


class Refusal(Exception):
    """The request is refused before any route sees it."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})

    def response(self, *, close: bool = False) -> ProblemResponse:
        """The answer; `close` where a body that nobody will read may still be on its way."""
        headers = {**self.headers, "connection": "close"} if close else self.headers
        return ProblemResponse(self.status, self.code, self.detail, headers=headers)


def status_of(error: GladosError) -> int:
    """The HTTP status of an error: that of its code, or of the nearest base class with a known code."""
    codes = (str(kind.__dict__.get("code")) for kind in type(error).__mro__)
    return next((STATUS[code] for code in codes if code in STATUS), 500)


def problem_of(error: GladosError) -> ProblemResponse:
    """An error of glados as an answer."""
    return ProblemResponse(status_of(error), error.code, error.message, error.data)


def install(app: FastAPI) -> None:
    """Give every error that a route can raise the shape of a problem."""
    app.add_exception_handler(GladosError, _on_glados_error)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_unexpected)


async def _on_glados_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, GladosError)
    return problem_of(error)


async def _on_refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error.response()


async def _on_invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = error.errors()
    errors = [{"path": _path(item["loc"]), "message": str(item["msg"])} for item in found]
    detail = "; ".join(f"{item['path']}: {item['message']}" for item in errors[:3])
    return ProblemResponse(422, "invalid_request", f"The request does not fit: {detail}.", {"errors": errors})


def _path(location: Sequence[str | int]) -> str:
    """`("body", "input", 0)` as `body.input.0`: where the value is that does not fit."""
    return ".".join(map(str, location))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = HTTP_CODES.get(error.status_code, "invalid_request")
    if error.status_code == 404:
        detail = f"Nothing is served at {request.url.path!r}: see /api/openapi.json for what is."
    elif error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        detail = f"{request.method} is not possible at {request.url.path!r}: use {allowed}."
    else:
        detail = str(error.detail)
    return ProblemResponse(error.status_code, code, detail, headers=error.headers)


async def _on_unexpected(request: Request, error: Exception) -> Response:
    log_unexpected(f"{request.method} {request.url.path!r}", error)
    return internal_error()


def log_unexpected(what: str, error: Exception) -> None:
    """One line that names the error; its insides and its traceback only where they were asked for."""
    logger.error("%s failed with an unexpected %s: GLADOS_LOG_LEVEL=debug shows more", what, type(error).__name__)
    logger.debug("The traceback", exc_info=error)


def internal_error() -> ProblemResponse:
    """What a client hears of an error that nobody expected: nothing of its insides."""
    return ProblemResponse(500, "internal_error", "Something unexpected went wrong: the log of the server says what.")


class Shield:
    """Ends here what the inner app raises: it has answered and logged by then, and the server would print it again."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        answer: ProblemResponse | None = None
        try:
            await self.app(scope, receive, watch)
        except asyncio.CancelledError:  # the server stops and does not wait any longer
            answer = ProblemResponse(503, "not_ready", "The server is stopping: ask /readyz and try again.")
        except Exception as error:
            logger.debug("The request for %s ended with an error", scope.get("path"), exc_info=error)
            answer = internal_error()
        if answer is not None and not started and scope["type"] == "http":
            await answer(scope, receive, send)
