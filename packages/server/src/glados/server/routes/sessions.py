"""Sessions: begin, list, search, read, change, fork, switch, abort, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from glados.core.export_lines import MAX_TAG, MAX_TITLE
from glados.core.session_actions import MAX_QUERY
from glados.server.slot import OpenedApp
from glados.server.wire import (
    AbortReply,
    EntryReply,
    ForkRequest,
    FoundReply,
    JsonResponse,
    NewSession,
    SessionChange,
    SessionDetail,
    SessionReply,
    SwitchRequest,
)

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

MAX_SEQ = 2**63 - 1  # what both databases hold
MAX_PAGE = 1_000  # sessions


@router.post("", status_code=201, response_model=SessionReply)
async def create_session(app: OpenedApp, body: NewSession | None = None) -> JsonResponse:
    """Begin a session; a prompt without a session begins one by itself."""
    session = await app.create_session(body.title if body else None)
    return JsonResponse(session.to_dict(), 201, {"location": f"/api/sessions/{session.id}"})


@router.get("", response_model=list[SessionReply])
async def list_sessions(
    app: OpenedApp,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    after: Annotated[str | None, Query(description="The id of the last session that was read.")] = None,
    order: Annotated[Literal["created", "updated"], Query(description="Which of its times counts.")] = "created",
    roots: Annotated[bool, Query(description="Leave out the sessions that agents started.")] = False,
    tag: Annotated[str | None, Query(max_length=MAX_TAG)] = None,
    title: Annotated[str | None, Query(max_length=MAX_TITLE, description="A part of the title.")] = None,
) -> JsonResponse:
    """Sessions, the newest first; `after` reads on behind the last one, and the last page is empty."""
    sessions = await app.sessions.list(limit=limit, before=after, order=order, roots=roots, tag=tag, title=title)
    return JsonResponse([session.to_dict() for session in sessions])


@router.get("/search", response_model=list[FoundReply])
async def search_sessions(
    app: OpenedApp,
    q: Annotated[str, Query(min_length=1, max_length=MAX_QUERY, description="Words that must all be there.")],
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 20,
    session_id: Annotated[str | None, Query(description="The only session to search in.")] = None,
) -> JsonResponse:
    """Prompts and answers with all of these words, the best first."""
    found = await app.search(q, limit=limit, session_id=session_id)
    return JsonResponse([hit.to_dict() for hit in found])


@router.get("/{session_id}", response_model=SessionDetail)
async def get_session(session_id: str, app: OpenedApp) -> JsonResponse:
    """One session, and what was spent in it and below it by model."""
    session = await app.sessions.get(session_id)
    costs = [cost.to_dict() for cost in await app.costs(session_id)]
    return JsonResponse({**session.to_dict(), "costs": costs})


@router.patch("/{session_id}", response_model=SessionReply)
async def change_session(session_id: str, body: SessionChange, app: OpenedApp) -> JsonResponse:
    """Give a session another title, other tags, or both."""
    session = await app.sessions.get(session_id)
    if body.title is not None:
        session = await app.rename_session(session_id, body.title)
    if body.tags is not None:
        session = await app.tag_session(session_id, body.tags)
    return JsonResponse(session.to_dict())


@router.post("/{session_id}/fork", status_code=201, response_model=SessionReply)
async def fork_session(session_id: str, app: OpenedApp, body: ForkRequest | None = None) -> JsonResponse:
    """A new session that begins with a copy of this one's branch; 409 while it works, unless an entry is named."""
    asked = body or ForkRequest()
    session = await app.fork_session(session_id, at=asked.at, title=asked.title)
    return JsonResponse(session.to_dict(), 201, {"location": f"/api/sessions/{session.id}"})


@router.post("/{session_id}/switch", response_model=SessionReply)
async def switch_branch(session_id: str, body: SwitchRequest, app: OpenedApp) -> JsonResponse:
    """Let the next prompt follow another entry, on a branch of its own; nothing is deleted. 409 while it works."""
    return JsonResponse((await app.switch_branch(session_id, body.entry_id)).to_dict())


@router.get("/{session_id}/entries", response_model=list[EntryReply])
async def list_entries(
    session_id: str,
    app: OpenedApp,
    after: Annotated[int, Query(ge=0, le=MAX_SEQ)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> JsonResponse:
    """The session's log behind the entry number `after`, all branches together; the last page is empty."""
    entries = await app.sessions.entries(session_id, after=after, limit=limit)
    return JsonResponse([entry.to_dict() for entry in entries])


@router.delete("/{session_id}", status_code=204)
async def delete_session(session_id: str, app: OpenedApp) -> Response:
    """Abort what runs in a session, and delete it with the sessions below it."""
    await app.delete_session(session_id)
    return Response(status_code=204)


@router.post("/{session_id}/abort", response_model=AbortReply)
async def abort_session(session_id: str, app: OpenedApp) -> JsonResponse:
    """Abort what runs in a session; its history stays valid."""
    return JsonResponse({"aborted": await app.abort(session_id)})
