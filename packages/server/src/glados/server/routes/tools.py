"""Tools: what there is, and one call of one."""

from __future__ import annotations

from fastapi import APIRouter

from glados.server.slot import OpenedApp
from glados.server.wire import JsonResponse, ToolCall, ToolOutput, ToolReply

router = APIRouter(prefix="/api/tools", tags=["tools"])


@router.get("", response_model=list[ToolReply])
async def list_tools(app: OpenedApp) -> JsonResponse:
    """Every tool of every enabled plugin."""
    return JsonResponse([tool.to_dict() for tool in await app.tools()])


@router.post("/{tool_id}", response_model=ToolOutput)
async def call_tool(tool_id: str, call: ToolCall, app: OpenedApp) -> JsonResponse:
    """Call a tool; where it asks for permission, `approve` says yes, and without it the answer is no."""
    output = await app.call(tool_id, call.input, on_question="deny", approve=call.approve)
    return JsonResponse({"output": output})
