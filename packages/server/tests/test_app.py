"""The OpenAPI document, and that answers are what it says."""

from __future__ import annotations

import json
import re
from typing import Any

from glados.server.app import create_app
from glados.server.slot import AppSlot

METHODS = {
    "/healthz": ["get"],
    "/readyz": ["get"],
    "/api/chat": ["post"],
    "/api/sessions": ["get", "post"],
    "/api/sessions/search": ["get"],
    "/api/sessions/import": ["post"],
    "/api/sessions/{session_id}": ["delete", "get", "patch"],
    "/api/sessions/{session_id}/fork": ["post"],
    "/api/sessions/{session_id}/switch": ["post"],
    "/api/sessions/{session_id}/export": ["get"],
    "/api/sessions/{session_id}/entries": ["get"],
    "/api/sessions/{session_id}/abort": ["post"],
    "/api/tools": ["get"],
    "/api/tools/{tool_id}": ["post"],
    "/api/plugins": ["get"],
    "/api/permissions": ["get"],
    "/api/permissions/rules": ["get"],
    "/api/permissions/rules/{rule_id}": ["delete"],
    "/api/permissions/{question_id}": ["post"],
}


async def test_the_document_is_served_and_lists_every_route(daemon: Any) -> None:
    document = (await daemon.client.get("/api/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    assert {path: sorted(item) for path, item in document["paths"].items()} == METHODS
    assert document["security"] == [{"bearer": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []


def test_every_reference_in_the_document_leads_somewhere() -> None:
    document = create_app(AppSlot()).openapi()
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert names <= set(document["components"]["schemas"])
    assert "Problem" in names
    assert "HTTPValidationError" not in json.dumps(document)


def test_every_operation_has_an_id_of_its_own_a_description_and_problems() -> None:
    document = create_app(AppSlot()).openapi()
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["description"]
        assert list(operation["responses"]["default"]["content"]) == ["application/problem+json"]
        assert "422" not in operation["responses"]


def test_answers_have_schemas_and_chat_also_streams() -> None:
    paths = create_app(AppSlot()).openapi()["paths"]
    chat = paths["/api/chat"]["post"]["responses"]["200"]["content"]
    assert chat["application/json"]["schema"] == {"$ref": "#/components/schemas/ChatReply"}
    assert "text/event-stream" in chat
    created = paths["/api/sessions"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
    assert created == {"$ref": "#/components/schemas/SessionReply"}


async def test_no_page_of_documentation_is_served(daemon: Any) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert (await daemon.client.get(path)).status_code == 404
