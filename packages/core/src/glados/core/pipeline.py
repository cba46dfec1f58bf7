"""One tool call, phase by phase: schema, meaning, hooks, permission, the call, hooks, the result's limit.

The first phase that fails ends it with an error that the model reads; nothing but the call has side effects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from glados.core import foreign
from glados.core.checks import Checked, check_meaning, find, validated
from glados.core.errors import HookTimeout, InvalidInput, ToolAborted, ToolTimeout
from glados.core.events import ToolCallEnded, ToolCallStarted
from glados.core.messages import ToolCallPart
from glados.core.outcomes import failed, failure_of, limited, output_of, rendered, told
from glados.core.permissions import PermissionService
from glados.core.scope import Scope, ScopedHost
from glados.core.services import Services
from glados.core.tool_hooks import Ended, ToolHooks
from glados.core.tools import PermissionRequest, Tool, ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Takes a call from what the model wrote to what the model reads."""

    services: Services
    permissions: PermissionService
    hooks: ToolHooks = field(default_factory=ToolHooks)

    def check(self, call: ToolCallPart, tools: Mapping[str, Tool]) -> Checked | ToolResult:
        """The schema phase: which tool, and whether the arguments fit it."""
        try:
            tool = find(call.tool_id, tools)
            input = validated(tool, call.arguments)
        except (Exception, SystemExit) as error:
            return failed(call, failure_of(call.tool_id, error))
        return Checked(call, tool, input, tool.flags(input))

    async def run(self, checked: Checked, scope: Scope) -> ToolResult:
        """The other phases; every failure becomes the call's result."""
        call = checked.call
        host = ScopedHost(scope, self.permissions, self._inner)
        ctx = ToolContext(call.id, call.tool_id, scope.session_id, scope.run_id, self.services, host)
        try:
            await check_meaning(checked)
            yes = False
            if self.hooks.before:
                checked, yes = await self.hooks.before_tool(checked, scope.session_id, scope.run_id)
            await host.permit(ctx, checked.input, checked.flags, _permission_request(checked), default_yes=yes)
            result = await self._called(checked, ctx, host)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                result = aborted(checked, "had begun and its outcome is unknown" if host.begun else "had not begun")
                _tell_end(result, host)
                raise CallAborted(result) from error
            result = failed(call, failure_of(call.tool_id, error))  # the tool itself raised it
        except (Exception, SystemExit) as error:
            result = failed(call, failure_of(call.tool_id, error))
        _tell_end(result, host)
        return result

    async def call_once(self, call: ToolCallPart, scope: Scope) -> dict[str, Any]:
        """One call outside a model's turn: its output, or its error raised."""
        return output_of(await self._inner(call, scope))

    async def _called(self, checked: Checked, ctx: ToolContext, host: ScopedHost) -> ToolResult:
        """The call and the result's limit; what comes of it, an error's text too, is as untrusted as the tool says."""
        tool, call, scope = checked.tool, checked.call, host.scope
        host.begun = True
        try:
            output = await _call(checked, ctx, scope)
            ended = Ended(output, rendered(tool, output))
        except (Exception, SystemExit) as error:
            ended = Ended(error=failure_of(tool.id, error))
        if self.hooks.after:
            ended = await self.hooks.after_tool(checked, ended, scope.session_id, scope.run_id)
        untrusted = checked.flags.untrusted_output or host.untrusted
        if ended.error is not None:
            return failed(call, ended.error, untrusted=untrusted, notes=host.notes)
        whole = ToolResult(call.id, tool.id, ended.text, ended.output, untrusted=untrusted, notes=host.notes)
        return await limited(whole, tool.max_result_chars, self.services, scope.session_id)

    async def _inner(self, call: ToolCallPart, scope: Scope) -> ToolResult:
        checked = self.check(call, scope.tools)
        return checked if isinstance(checked, ToolResult) else await self.run(checked, scope)


class CallAborted(asyncio.CancelledError):
    """The cancellation of a call, with the result that it leaves."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__()
        self.result = result


def aborted(checked: Checked, how_far: str) -> ToolResult:
    """A call of a run that was aborted."""
    error = ToolAborted(f"The run was aborted; {checked.tool.id} {how_far}.", tool=checked.tool.id)
    return failed(checked.call, error)


def _tell_end(result: ToolResult, host: ScopedHost) -> None:
    host.close()
    scope = host.scope
    event = ToolCallEnded(
        call_id=result.call_id,
        tool_id=result.tool_id,
        text=told(result),
        code=result.code,
        untrusted=result.untrusted,
        meta=tuple(note.to_dict() for note in result.notes),
        **scope.told(),
    )
    scope.publish(event)


async def _call(checked: Checked, ctx: ToolContext, scope: Scope) -> BaseModel:
    tool, input = checked.tool, checked.input
    started = ToolCallStarted(call_id=ctx.call_id, tool_id=tool.id, input=input.model_dump(mode="json"), **scope.told())
    scope.publish(started)
    value, error = await foreign.outcome(tool.id, tool.function, tool.timeout, **tool.arguments(input, ctx))
    if isinstance(error, HookTimeout):
        raise ToolTimeout(f"{tool.id} did not end within {tool.timeout:g} s and was stopped.", tool=tool.id)
    if error is not None:
        raise failure_of(tool.id, error) from error
    return tool.output(value)


def _permission_request(checked: Checked) -> PermissionRequest:
    return checked.tool.permission(checked.input) if checked.tool.permission is not None else PermissionRequest()


def call_part(call_id: str, tool_id: str, input: Mapping[str, Any]) -> ToolCallPart:
    """A call that a program makes, in the form in which models make theirs."""
    try:
        return ToolCallPart(call_id, tool_id, json.dumps(dict(input)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The input of {tool_id} cannot be written as JSON: {error}.", tool=tool_id) from None
