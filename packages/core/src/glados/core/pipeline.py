"""One tool call, phase by phase: schema, meaning, permission, the call, the result's limit.

The first phase that fails ends it with an error that the model reads; nothing but the call has side effects.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from glados.core import foreign
from glados.core.errors import (
    GladosError,
    HookTimeout,
    InvalidInput,
    ToolAborted,
    ToolError,
    ToolNotFound,
    ToolTimeout,
)
from glados.core.events import ToolCallEnded, ToolCallStarted
from glados.core.messages import ToolCallPart, well_formed
from glados.core.permissions import PermissionService
from glados.core.scope import Scope, ScopedHost
from glados.core.services import Services
from glados.core.tools import PermissionRequest, Tool, ToolContext, ToolFlags, ToolResult


@dataclass(frozen=True, slots=True)
class Checked:
    """A call whose input fits its schema."""

    call: ToolCallPart
    tool: Tool
    input: BaseModel
    flags: ToolFlags


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Takes a call from what the model wrote to what the model reads."""

    services: Services
    permissions: PermissionService

    def check(self, call: ToolCallPart, tools: Mapping[str, Tool]) -> Checked | ToolResult:
        """The schema phase: which tool, and whether the arguments fit it."""
        try:
            tool = find(call.tool_id, tools)
            input = _validated(tool, call.arguments)
        except (Exception, SystemExit) as error:
            return failed(call, _told(call.tool_id, error))
        return Checked(call, tool, input, tool.flags(input))

    async def run(self, checked: Checked, scope: Scope) -> ToolResult:
        """The other phases; every failure becomes the call's result."""
        call = checked.call
        host = ScopedHost(scope, self.permissions, self.call_once)
        ctx = ToolContext(call.id, call.tool_id, scope.session_id, scope.run_id, self.services, host)
        try:
            await _check_meaning(checked)
            await host.permit(ctx, checked.input, checked.flags, _permission_request(checked))
            output = await _call(checked, ctx, scope)
            result = _limited(checked, output)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                _tell_end(aborted(checked, "had begun and its outcome is unknown"), scope)
                raise
            result = failed(call, _told(call.tool_id, error))  # the tool itself raised it
        except (Exception, SystemExit) as error:
            result = failed(call, _told(call.tool_id, error))
        finally:
            host.over = True
        _tell_end(result, scope)
        return result

    async def call_once(self, call: ToolCallPart, scope: Scope) -> dict[str, Any]:
        """One call outside a model's turn: its output, or its error raised."""
        checked = self.check(call, scope.tools)
        result = checked if isinstance(checked, ToolResult) else await self.run(checked, scope)
        if result.error is not None:
            raise result.error
        try:
            return result.output.model_dump(mode="json") if result.output is not None else {}
        except Exception as error:
            raise _told(call.tool_id, error) from error


def find(tool_id: str, tools: Mapping[str, Tool]) -> Tool:
    """The tool of that id; an unknown one is told with the nearest that there is."""
    tool = tools.get(tool_id)
    if tool is None:
        near = difflib.get_close_matches(tool_id, tools, 1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(tools) or 'no tools'}."
        raise ToolNotFound(f"There is no tool {tool_id!r}: {meant}", tool=tool_id)
    return tool


def failed(call: ToolCallPart, error: GladosError) -> ToolResult:
    """A call that ended in an error, as the model reads it."""
    return ToolResult(call.id, call.tool_id, well_formed(f"Error {error.code}: {error.message}"), error=error)


def aborted(checked: Checked, how_far: str) -> ToolResult:
    """A call of a run that was aborted."""
    error = ToolAborted(f"The run was aborted; {checked.tool.id} {how_far}.", tool=checked.tool.id)
    return failed(checked.call, error)


def _tell_end(result: ToolResult, scope: Scope) -> None:
    facts = {"call_id": result.call_id, "tool_id": result.tool_id, "text": result.text, "code": result.code}
    scope.publish(ToolCallEnded(**facts, **scope.told()))


async def _call(checked: Checked, ctx: ToolContext, scope: Scope) -> BaseModel:
    tool, input = checked.tool, checked.input
    started = ToolCallStarted(call_id=ctx.call_id, tool_id=tool.id, input=input.model_dump(mode="json"), **scope.told())
    scope.publish(started)
    value, error = await foreign.outcome(tool.id, tool.function, tool.timeout, **tool.arguments(input, ctx))
    if isinstance(error, HookTimeout):
        raise ToolTimeout(f"{tool.id} did not end within {tool.timeout:g} s and was stopped.", tool=tool.id)
    if error is not None:
        raise _told(tool.id, error) from error
    return tool.output(value)


def _validated(tool: Tool, arguments: str) -> BaseModel:
    try:
        return tool.input_model.model_validate_json(arguments or "{}")
    except ValidationError as error:
        items = error.errors(include_url=False)
    if items[0]["type"] == "json_invalid":
        raise InvalidInput(
            f"The input of {tool.id} is not JSON ({items[0]['msg']}): send one JSON object.", tool=tool.id
        )
    faults = [{"field": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in items[:5]]
    told = "; ".join(f"{fault['field'] or 'input'}: {fault['message']}" for fault in faults)
    raise InvalidInput(f"The input of {tool.id} does not fit: {told}.", tool=tool.id, faults=faults)


async def _check_meaning(checked: Checked) -> None:
    """The meaning phase: what a schema cannot say, by the tool's own `validate`."""
    if checked.tool.validate is None:
        return
    try:
        answer = checked.tool.validate(checked.input)
        if inspect.isawaitable(answer):
            await answer
    except ValueError as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InvalidInput(f"The input of {checked.tool.id} does not fit: {why}.", tool=checked.tool.id) from error


def _permission_request(checked: Checked) -> PermissionRequest:
    return checked.tool.permission(checked.input) if checked.tool.permission is not None else PermissionRequest()


def _told(tool_id: str, error: BaseException) -> GladosError:
    """What a tool raised, as an error of that tool."""
    if isinstance(error, GladosError):
        return error
    if isinstance(error, SystemExit):
        return ToolError(f"{tool_id} failed: it called sys.exit({error.code!r}).", tool=tool_id)
    text = " ".join(str(error).split())
    return ToolError(f"{tool_id} failed with {type(error).__name__}{': ' + text if text else ''}.", tool=tool_id)


def _limited(checked: Checked, output: BaseModel) -> ToolResult:
    """The result's limit: what the model reads is cut, and says so."""
    tool = checked.tool
    text = well_formed(tool.render(output)) if tool.render is not None else output.model_dump_json()
    if len(text) > tool.max_result_chars:
        cut = f"\n[cut: {tool.max_result_chars} of {len(text)} characters are shown]"
        text = text[: tool.max_result_chars] + cut
    return ToolResult(checked.call.id, tool.id, text, output, untrusted=checked.flags.untrusted_output)


def call_part(call_id: str, tool_id: str, input: Mapping[str, Any]) -> ToolCallPart:
    """A call that a program makes, in the form in which models make theirs."""
    try:
        return ToolCallPart(call_id, tool_id, json.dumps(dict(input)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The input of {tool_id} cannot be written as JSON: {error}.", tool=tool_id) from None
