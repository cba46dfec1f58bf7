"""Sessions: begin, list, read, abort, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from glados.server.slot import OpenedApp
from glados.server.wire import AbortReply, EntryReply, JsonResponse, NewSession, SessionReply

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

MAX_SEQ = 2**63 - 1  # what both databases hold


@router.post("", status_code=201, response_model=SessionReply)
async def create_session(app: OpenedApp, body: NewSession | None = None) -> JsonResponse:
    """Begin a session; a prompt without a session begins one by itself."""
    session = await app.create_session(body.title if body else None)
    return JsonResponse(session.to_dict(), 201, {"location": f"/api/sessions/{session.id}"})


@router.get("", response_model=list[SessionReply])
async def list_sessions(
    app: OpenedApp, limit: Annotated[int, Query(ge=1, le=1000)] = 50, after: str | None = None
) -> JsonResponse:
    """Sessions, the newest first; `after` is the id of the last one that was read."""
    return JsonResponse([session.to_dict() for session in await app.sessions.list(limit=limit, before=after)])


@router.get("/{session_id}", response_model=SessionReply)
async def get_session(session_id: str, app: OpenedApp) -> JsonResponse:
    """One session."""
    return JsonResponse((await app.sessions.get(session_id)).to_dict())


@router.get("/{session_id}/entries", response_model=list[EntryReply])
async def list_entries(
    session_id: str,
    app: OpenedApp,
    after: Annotated[int, Query(ge=0, le=MAX_SEQ)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> JsonResponse:
    """The session's log behind the entry number `after`."""
    entries = await app.sessions.entries(session_id, after=after, limit=limit)
    return JsonResponse([entry.to_dict() for entry in entries])


@router.delete("/{session_id}", status_code=204)
async def delete_session(session_id: str, app: OpenedApp) -> Response:
    """Abort what runs in a session and forget it."""
    await app.delete_session(session_id)
    return Response(status_code=204)


@router.post("/{session_id}/abort", response_model=AbortReply)
async def abort_session(session_id: str, app: OpenedApp) -> JsonResponse:
    """Abort what runs in a session; its history stays valid."""
    return JsonResponse({"aborted": await app.abort(session_id)})
