"""The web application: routes, problems and the OpenAPI document, behind the guard."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from glados.server import problems
from glados.server.auth import Doors, Guard
from glados.server.bodies import JsonBodies
from glados.server.routes import chat, exports, health, permissions, plugins, sessions, tools
from glados.server.slot import AppSlot
from glados.server.version import __version__
from glados.server.wire import JsonResponse, Problem

# Nothing of a request is told to anybody by itself, whatever OTEL_ variables the environment has.
_NO_TELEMETRY = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
_PROBLEM: dict[str, Any] = {
    "description": "What went wrong",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def create_app(slot: AppSlot) -> FastAPI:
    """The routes over whatever App is in the slot."""
    telemetry: Any = _NO_TELEMETRY
    app = FastAPI(
        title="glados",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # both pages would load their scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=JsonResponse,
        generate_unique_id_function=lambda route: route.name,
        telemetry=telemetry,
    )
    app.state.slot = slot
    problems.install(app)
    for routes in (health, chat, exports, sessions, tools, plugins, permissions):
        app.include_router(routes.router)
    app.openapi = lambda: _openapi(app)
    return app


def protect(app: ASGIApp, slot: AppSlot, doors: Doors, max_body_bytes: int) -> ASGIApp:
    """The application behind everything that a request has to pass."""
    return Guard(JsonBodies(problems.Shield(app), max_body_bytes), doors, lambda: slot.token)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document, with the token and with problems as the only shape of errors."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas: dict[str, Any] = schema["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas["Problem"] = Problem.model_json_schema()
        schema["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"bearer": []}]
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                operation["responses"].pop("422", None)
                operation["responses"]["default"] = _PROBLEM
                if not path.startswith("/api/"):
                    operation["security"] = []
        app.openapi_schema = schema
    return app.openapi_schema
