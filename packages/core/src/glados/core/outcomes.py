"""How a call ended, as the model reads it: bounded, with its notices, in the delimiter if it is from outside."""

from __future__ import annotations

import logging
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from glados.core.artifacts import ArtifactStore
from glados.core.cutting import boundary, shortened
from glados.core.errors import GladosError, ServiceNotFound, ToolError
from glados.core.fences import Fence, unfenced
from glados.core.messages import ToolCallPart, ToolResultPart, well_formed
from glados.core.notices import Note, Source, Truncation, render
from glados.core.services import Services
from glados.core.tools import Tool, ToolResult

MAX_ERROR_CHARS = 10_000
log = logging.getLogger("glados.tools")


def output_of(result: ToolResult) -> dict[str, Any]:
    """The output of a call as JSON, or its error raised."""
    if result.error is not None:
        raise result.error
    try:
        return result.output.model_dump(mode="json") if result.output is not None else {}
    except Exception as error:
        raise failure_of(result.tool_id, error) from error


def failure_of(tool_id: str, error: BaseException) -> GladosError:
    """What a tool raised, as an error of that tool."""
    if isinstance(error, GladosError):
        return error
    if isinstance(error, SystemExit):
        return ToolError(f"{tool_id} failed: it called sys.exit({error.code!r}).", tool=tool_id)
    text = " ".join(str(error).split())
    return ToolError(f"{tool_id} failed with {type(error).__name__}{': ' + text if text else ''}.", tool=tool_id)


def failed(
    call: ToolCallPart, error: GladosError, *, untrusted: bool = False, notes: tuple[Note, ...] = ()
) -> ToolResult:
    """A call that ended in an error."""
    text = shortened(well_formed(f"Error {error.code}: {error.message}"), MAX_ERROR_CHARS)
    return ToolResult(call.id, call.tool_id, text, error=error, untrusted=untrusted, notes=notes)


def rendered(tool: Tool, output: BaseModel) -> str:
    """The whole text of an output, as the tool renders it or as JSON."""
    return well_formed(tool.render(output)) if tool.render is not None else output.model_dump_json()


async def limited(result: ToolResult, max_chars: int, services: Services, session_id: str | None) -> ToolResult:
    """The result's limit: a text that is too long is cut, and kept whole as an artifact."""
    text = result.text
    if len(text) <= max_chars:
        return result
    end = boundary(text, 0, max_chars)
    artifact_id = await _kept(result, services, session_id)
    cut = Truncation(end, len(text), next_offset=end if artifact_id else None, artifact_id=artifact_id)
    return ToolResult(
        result.call_id, result.tool_id, text[:end], result.output, result.error, result.untrusted, (cut, *result.notes)
    )


async def _kept(result: ToolResult, services: Services, session_id: str | None) -> str | None:
    """The id of the artifact; a store that fails costs what was cut, and not the call."""
    try:
        store = services.get(ArtifactStore)
        return await store.put(session_id, result.call_id, result.tool_id, result.text, result.untrusted)
    except ServiceNotFound:
        return None
    except (Exception, SystemExit) as error:
        log.warning("the rest of a result of %s is lost: %s", result.tool_id, error)
        return None


def told(result: ToolResult) -> str:
    """The text with its notices, as people read it."""
    return _joined(result.text, render(result.notes)) if result.notes else result.text


def part(result: ToolResult, fence: Fence) -> ToolResultPart:
    """What the model reads. A source is named by the content, so it stands with it inside the delimiter."""
    error, notes = result.error, result.notes
    data = to_jsonable_python(dict(error.data), fallback=str) if error is not None and error.data else None
    text = result.text
    if result.untrusted:
        inside = [note for note in notes if isinstance(note, Source)]
        text = fence.around(_joined(text, render(inside)))
        notes = [note for note in notes if not isinstance(note, Source)]
    return ToolResultPart(
        result.call_id,
        result.tool_id,
        _joined(text, render(notes)) if notes else text,
        result.is_error,
        result.code,
        data,
        untrusted=result.untrusted,
        artifact_id=result.artifact_id if result.notes else None,
        meta=tuple(note.to_dict() for note in result.notes),
    )


def content(part: ToolResultPart) -> str:
    """The content alone, without delimiter and notices: for people, and for summaries."""
    text = part.text
    if part.untrusted:
        text = unfenced(text)
    inside = {part.untrusted and fact["type"] == "source" for fact in part.meta}
    for _ in inside:  # one notice behind the delimiter, one inside it
        text = text.rpartition("\n\n[")[0]
    return text


def _joined(text: str, notice: str) -> str:
    return f"{text}\n\n{notice}" if notice else text
