"""The built-in tool `artifacts.read`, with which the model reads on in a result that was cut."""

from __future__ import annotations

from pydantic import BaseModel, Field

from glados.core.artifacts import ArtifactStore
from glados.core.notices import Truncation
from glados.core.tools import ToolContext, tool

MAX_READ_CHARS = 50_000
DEFAULT_READ_CHARS = 20_000


class ReadInput(BaseModel):
    """Which part of which artifact."""

    id: str = Field(description="The artifact's id, from the notice behind the result that was cut.")
    offset: int = Field(default=0, ge=0, description="The character to begin at.")
    limit: int = Field(default=DEFAULT_READ_CHARS, ge=1, le=MAX_READ_CHARS, description="Characters at most.")


class ReadOutput(BaseModel):
    """A part of an artifact, and where the next one begins."""

    text: str
    offset: int
    next_offset: int | None
    has_more: bool
    total: int


@tool(
    "artifacts.read",
    read_only=True,
    concurrent=True,
    idempotent=True,
    open_world=False,
    max_result_chars=2 * MAX_READ_CHARS,
    render=lambda output: output.text,
)
async def read_artifact(input: ReadInput, ctx: ToolContext) -> ReadOutput:
    """Read on in a result that was cut: give the id and the offset that its notice names."""
    piece = await ctx.services.get(ArtifactStore).read(input.id, input.offset, input.limit)
    if piece.untrusted:
        ctx.mark_untrusted()
    next_offset = piece.end if piece.end < piece.total else None
    if next_offset is not None or piece.offset:
        ctx.note(
            Truncation(len(piece.text), piece.total, offset=piece.offset, next_offset=next_offset, artifact_id=input.id)
        )
    return ReadOutput(
        text=piece.text,
        offset=piece.offset,
        next_offset=next_offset,
        has_more=next_offset is not None,
        total=piece.total,
    )
