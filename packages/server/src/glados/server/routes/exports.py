"""Sessions out and in: as JSON lines that can be imported again, or as Markdown to read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from glados.server.bodies import JSON_LINES
from glados.server.slot import OpenedApp
from glados.server.wire import JsonResponse, SessionReply

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

CHUNK = 64_000  # characters that are sent at a time
MARKDOWN = "text/markdown"
_FORMATS = {"jsonl": (JSON_LINES, "jsonl"), "markdown": (f"{MARKDOWN}; charset=utf-8", "md")}
_TEXT = {"schema": {"type": "string"}}
_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The session and those below it", "content": {JSON_LINES: _TEXT, MARKDOWN: _TEXT}}
}
_IMPORT: dict[str, Any] = {
    "requestBody": {"required": True, "description": "What an export gave", "content": {JSON_LINES: _TEXT}}
}


@router.get("/{session_id}/export", response_class=StreamingResponse, responses=_EXPORT)
async def export_session(
    session_id: str, app: OpenedApp, format: Literal["jsonl", "markdown"] = "jsonl"
) -> StreamingResponse:
    """A session with all below it: every branch as JSON lines, or the current one as Markdown."""
    pieces = await app.export_session(session_id, format)
    media_type, suffix = _FORMATS[format]
    name = re.sub(r"[^A-Za-z0-9_-]", "_", session_id)
    headers = {"content-disposition": f'attachment; filename="session-{name}.{suffix}"'}
    return StreamingResponse(_chunks(pieces), media_type=media_type, headers=headers)


@router.post("/import", status_code=201, response_model=list[SessionReply], openapi_extra=_IMPORT)
async def import_sessions(request: Request, app: OpenedApp) -> JsonResponse:
    """Bring exported sessions back, all or none; where an id is taken, a new one is given."""
    body = await request.body()
    sessions = await app.import_sessions(body.split(b"\n"))
    return JsonResponse([session.to_dict() for session in sessions], 201)


async def _chunks(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    """Lines by the handful: each piece that is sent costs as much as a long one."""
    waiting: list[str] = []
    size = 0
    async for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)
