"""A prompt in, the answer out: as one JSON object, or as the run's events."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from glados.server.slot import OpenedApp
from glados.server.sse import MEDIA_TYPE, EventResponse, wants_events
from glados.server.wire import ChatReply, ChatRequest, JsonResponse

router = APIRouter(prefix="/api/chat", tags=["chat"])

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The answer, or the run's events", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}


@router.post("", response_model=ChatReply, responses=_STREAM)
async def chat(body: ChatRequest, request: Request, app: OpenedApp) -> Response:
    """Run a prompt; with `Accept: text/event-stream` its events are told as they happen, the last is agent:run_end."""
    if wants_events(request.headers.get("accept", "")):
        events = app.stream(
            body.prompt, session=body.session_id, on_question=body.on_question or "wait", on_busy=body.on_busy
        )
        return await EventResponse.of(events)
    result = await app.run(
        body.prompt, session=body.session_id, on_question=body.on_question or "deny", on_busy=body.on_busy
    )
    return JsonResponse(result.to_dict())
