"""Whether the server is there, and whether it is ready; the only routes without a token."""

from __future__ import annotations

from fastapi import APIRouter, Request

from glados.server.slot import slot_of
from glados.server.wire import Health, JsonResponse

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@router.get("/readyz", response_model=Health)
async def readyz(request: Request) -> JsonResponse:
    """The plugins have started; 503 until then."""
    if slot_of(request).app is None:
        return JsonResponse({"status": "starting"}, 503, {"retry-after": "1"})
    return JsonResponse({"status": "ready"})
