"""Plugins and how they are."""

from __future__ import annotations

from fastapi import APIRouter

from glados.server.slot import OpenedApp
from glados.server.wire import JsonResponse, PluginReply

router = APIRouter(prefix="/api/plugins", tags=["plugins"])


@router.get("", response_model=list[PluginReply])
async def list_plugins(app: OpenedApp) -> JsonResponse:
    """Every plugin that was found, with the reason why one does not run."""
    return JsonResponse([record.to_dict() for record in app.plugins])
