"""Errors as problem details."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from glados.core import (
    ConfigurationError,
    Conflict,
    GladosError,
    InvalidInput,
    ModelError,
    PermissionDenied,
    PluginError,
    QuestionAnswered,
    QuestionNotFound,
    ServiceNotFound,
    SessionBusy,
    SessionNotFound,
    ToolAborted,
    ToolError,
    ToolNotFound,
    ToolTimeout,
)
from glados.server.problems import STATUS, status_of
from glados.server.wire import Problem


class Timeout(ToolError):
    code = "timeout"


class DomainNotAllowed(ToolError):
    code = "domain_not_allowed"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (InvalidInput, 422),
        (ToolNotFound, 404),
        (SessionNotFound, 404),
        (QuestionNotFound, 404),
        (SessionBusy, 409),
        (QuestionAnswered, 409),
        (Conflict, 409),
        (ToolAborted, 409),
        (PermissionDenied, 403),
        (ToolError, 422),
        (DomainNotAllowed, 422),
        (ToolTimeout, 504),
        (Timeout, 504),
        (ModelError, 502),
        (PluginError, 500),
        (ServiceNotFound, 500),
        (ConfigurationError, 500),
        (GladosError, 500),
    ],
)
def test_every_error_has_a_status(kind: type[GladosError], status: int) -> None:
    assert status_of(kind("It went wrong.")) == status


def test_every_error_of_core_has_a_code_or_a_base_in_the_table() -> None:
    direct = [kind for kind in GladosError.__subclasses__() if kind.__module__ == "glados.core.errors"]
    assert [kind.__name__ for kind in direct if kind.code not in STATUS] == []


async def test_a_problem_has_all_its_fields(daemon: Any) -> None:
    answer = await daemon.client.get("/api/sessions/nothing")
    problem = Problem.model_validate(answer.json(), extra="forbid")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (problem.status, problem.code, problem.title) == (404, "session_not_found", "Not Found")
    assert "'nothing'" in problem.detail
    assert problem.data == {"session_id": "nothing"}


async def test_an_invalid_request_names_the_fields(daemon: Any) -> None:
    answer = await daemon.client.post("/api/chat", json={"promt": "x", "on_busy": "maybe"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid_request")
    assert {item["path"] for item in problem["data"]["errors"]} == {"body.promt", "body.prompt", "body.on_busy"}


async def test_an_unknown_route_and_a_wrong_method_are_problems(daemon: Any) -> None:
    missing = await daemon.client.get("/api/nothing")
    wrong = await daemon.client.put("/api/chat", json={})
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "POST")


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
async def test_an_unexpected_error_shows_nothing_and_its_traceback_only_at_debug(
    daemon: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    async def broken() -> Any:
        raise KeyError("the secret")

    monkeypatch.setattr(daemon.app, "tools", broken)
    caplog.set_level(level, "glados")
    answer = await daemon.client.get("/api/tools")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "secret" not in answer.text
    assert ("the secret" in caplog.text) == (level == logging.DEBUG)
    assert "'/api/tools' failed with an unexpected KeyError" in caplog.text
    assert (await daemon.client.get("/healthz")).status_code == 200
