"""Tools over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from glados.server.wire import ToolReply


async def test_tools_are_listed_with_their_schemas_and_flags(daemon: Any) -> None:
    tools = {tool["id"]: tool for tool in (await daemon.client.get("/api/tools")).json()}
    assert set(tools) == {"demo.echo", "demo.change", "demo.wait", "demo.fail"}
    echo = ToolReply.model_validate(tools["demo.echo"], extra="forbid")
    assert echo.input_schema["properties"]["text"]["type"] == "string"
    assert (echo.flags["read_only"], tools["demo.change"]["flags"]["read_only"]) == (True, False)


async def test_a_tool_is_called(daemon: Any) -> None:
    answer = await daemon.client.post("/api/tools/demo.echo", json={"input": {"text": "hello"}})
    assert (answer.status_code, answer.json()) == (200, {"output": {"result": "hello"}})


async def test_a_change_needs_to_be_approved(daemon: Any) -> None:
    call = {"input": {"text": "x"}}
    denied = await daemon.client.post("/api/tools/demo.change", json=call)
    assert (denied.status_code, denied.json()["code"]) == (403, "permission_denied")
    approved = await daemon.client.post("/api/tools/demo.change", json={**call, "approve": True})
    assert approved.json() == {"output": {"result": "changed x"}}


@pytest.mark.parametrize(
    ("tool", "input", "status", "code"),
    [
        ("demo.nothing", {}, 404, "tool_not_found"),
        ("demo.echo", {"text": 1}, 422, "invalid_input"),
        ("demo.echo", {}, 422, "invalid_input"),
        ("demo.fail", {}, 422, "tool_failed"),
    ],
)
async def test_what_goes_wrong_has_the_code_that_it_has_everywhere(
    daemon: Any, tool: str, input: dict[str, Any], status: int, code: str
) -> None:
    answer = await daemon.client.post(f"/api/tools/{tool}", json={"input": input})
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_the_data_of_an_error_reaches_the_client(daemon: Any) -> None:
    answer = await daemon.client.post("/api/tools/demo.fail", json={})
    assert answer.json()["data"]["hint"] == "demo.echo"
