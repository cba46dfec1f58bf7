"""The hooks around a tool call: what plugins may say before it, and change about what comes of it."""

from __future__ import annotations

import copy
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from glados.core import foreign
from glados.core.checks import Checked, check_meaning, validated
from glados.core.errors import GladosError, HookTimeout, InvalidInput, PermissionDenied, PluginError
from glados.core.messages import well_formed
from glados.core.outcomes import rendered
from glados.core.plugins import Plugin, hook
from glados.core.tools import ToolFlags

log = logging.getLogger("glados.plugins")


@dataclass(slots=True)
class ToolCall:
    """One call on its way to its tool; `before_tool` may deny it, change its input or answer the default question."""

    tool_id: str
    call_id: str
    input: dict[str, Any]
    flags: ToolFlags
    session_id: str | None = None
    run_id: str | None = None
    refusal: str | None = field(default=None, init=False)
    allowed: bool = field(default=False, init=False)
    made: bool = False

    def deny(self, reason: str) -> None:
        """Refuse the call; the model reads the reason."""
        self._check_open()
        self.refusal = reason

    def allow(self) -> None:
        """Answer yes to the question that only the mode asks; it does nothing about rules or untrusted content."""
        self._check_open()
        self.allowed = True

    def change(self, input: Mapping[str, Any]) -> None:
        """Call the tool with another input; it is checked as if the model had written it."""
        self._check_open()
        self.input = dict(input)

    def _check_open(self) -> None:
        if self.made:
            raise PluginError(f"The call of {self.tool_id} has been made: only before_tool can decide about it.")


@dataclass(slots=True)
class ToolOutcome:
    """What came of a call, before it is cut to its limit; `text` is what the model reads, or the error's message."""

    output: dict[str, Any] | None
    text: str
    error: GladosError | None = None

    def change(self, *, output: Mapping[str, Any] | None = None, text: str | None = None) -> None:
        """Give the tool's output, what the model reads, or both in another form; the text follows the output."""
        if output is not None:
            self.output = dict(output)
        if text is not None:
            self.text = text


@dataclass(frozen=True, slots=True)
class Ended:
    """What the pipeline has when the call phase is over."""

    output: BaseModel | None = None
    text: str = ""
    error: GladosError | None = None


@dataclass(frozen=True, slots=True)
class _Hook:
    plugin_id: str
    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]

    async def call(self, timeout: float, **offered: Any) -> str | None:
        """Call it with the arguments that it takes; gives what went wrong, if something did."""
        what = f"the hook {self.name!r} of plugin {self.plugin_id!r}"
        arguments = {name: offered[name] for name in self.parameters}
        _, error = await foreign.outcome(what, self.function, timeout, **arguments)
        if error is None:
            return None
        told = foreign.failure(what, error).message
        return f"{what}: {told}" if isinstance(error, GladosError) and not isinstance(error, HookTimeout) else told


class ToolHooks:
    """The hooks `before_tool` and `after_tool` of the plugins that run, in the plugins' order."""

    def __init__(self, timeout: float = 10.0) -> None:
        self._timeout = timeout
        self.before: list[_Hook] = []
        self.after: list[_Hook] = []

    def add(self, plugin: Plugin[Any]) -> None:
        """Take the hooks of a plugin that is set up."""
        for name, hooks in (("before_tool", self.before), ("after_tool", self.after)):
            function = hook(plugin, name)
            if function is not None:
                hooks.append(_Hook(plugin.id, name, function, tuple(inspect.signature(function).parameters)))

    def remove(self, plugin: Plugin[Any]) -> None:
        """Forget the hooks of a plugin that is stopped."""
        for hooks in (self.before, self.after):
            hooks[:] = [each for each in hooks if each.plugin_id != plugin.id]

    async def before_tool(self, checked: Checked, session_id: str | None, run_id: str | None) -> tuple[Checked, bool]:
        """The call as the hooks leave it, and whether one answers the default question with yes; fails closed."""
        yes = False
        for each in list(self.before):
            input = _as_json(checked.input)
            call = ToolCall(checked.tool.id, checked.call.id, copy.deepcopy(input), checked.flags, session_id, run_id)
            wrong = await each.call(self._timeout, call=call)
            if wrong is not None:
                log.warning("%s was denied: %s", checked.tool.id, wrong)
                raise PermissionDenied(f"{checked.tool.id} was not allowed: {wrong}", tool=checked.tool.id)
            if call.refusal is not None:
                raise PermissionDenied(
                    f"{checked.tool.id} was refused by plugin {each.plugin_id!r}: {_sentence(call.refusal)}",
                    tool=checked.tool.id,
                    plugin=each.plugin_id,
                )
            changed = call.input != input
            if changed:
                checked = await _changed(checked, call.input, each.plugin_id)
            yes = call.allowed or (yes and not changed)  # a yes was to the input that it saw
        return checked, yes

    async def after_tool(self, checked: Checked, ended: Ended, session_id: str | None, run_id: str | None) -> Ended:
        """What the hooks make of an outcome; one that fails loses its change."""
        for each in list(self.after):
            input = _as_json(checked.input)
            call = ToolCall(checked.tool.id, checked.call.id, input, checked.flags, session_id, run_id, made=True)
            output = _output(ended)
            text = ended.error.message if ended.error is not None else ended.text
            outcome = ToolOutcome(copy.deepcopy(output), text, ended.error)
            wrong = await each.call(self._timeout, call=call, result=outcome)
            if wrong is None:
                try:
                    ended = _revised(checked, ended, output, outcome)
                    continue
                except (Exception, SystemExit) as error:
                    wrong = f"what the hook {each.name!r} of plugin {each.plugin_id!r} made of it: {error}"
            log.warning("a result of %s stays as it was: %s", checked.tool.id, wrong)
        return ended


def _as_json(value: BaseModel) -> dict[str, Any]:
    """The fields as a model or a program would write them, so that they can be read again."""
    return value.model_dump(mode="json", by_alias=True, round_trip=True)


def _output(ended: Ended) -> dict[str, Any] | None:
    try:
        return _as_json(ended.output) if ended.output is not None else None
    except Exception:
        return None  # it has a text, though it cannot be JSON


def _sentence(text: object) -> str:
    return (" ".join(str(text).split()).rstrip(".") or "it gave no reason") + "."


async def _changed(checked: Checked, input: object, plugin_id: str) -> Checked:
    """The call with the input that a plugin gave it, checked again by schema and meaning."""
    tool = checked.tool
    try:
        changed = validated(tool, json.dumps(input))
        revised = replace(checked, input=changed, flags=tool.flags(changed))
        await check_meaning(revised)
    except (GladosError, TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Plugin {plugin_id!r} changed the input of {tool.id} to one that cannot be used: {_sentence(error)}",
            tool=tool.id,
            plugin=plugin_id,
        ) from error
    old, new = checked.flags, revised.flags
    if (old.read_only and not new.read_only) or (old.concurrent and not new.concurrent):
        # It was begun as a call that only reads, or beside others; it cannot become one that must not be.
        raise PermissionDenied(
            f"{tool.id} was not allowed: plugin {plugin_id!r} changed a harmless input to one that is not.",
            tool=tool.id,
            plugin=plugin_id,
        )
    return revised


def _revised(checked: Checked, ended: Ended, output: dict[str, Any] | None, outcome: ToolOutcome) -> Ended:
    """The outcome with the changes of one hook, if they can be used."""
    if ended.error is not None:
        return ended if outcome.text == ended.error.message else Ended(error=_reworded(ended.error, outcome.text))
    text, model = ended.text, ended.output
    if outcome.output != output:
        model = checked.tool.output_model.model_validate_json(json.dumps(outcome.output))
        text = rendered(checked.tool, model)
    if outcome.text != ended.text:
        text = well_formed(outcome.text)
    return Ended(model, text)


def _reworded(error: GladosError, message: str) -> GladosError:
    """The same error in other words; its data goes, because what the words hid may stand in it."""
    reworded = type(error).__new__(type(error))
    reworded.__dict__.update(error.__dict__)
    GladosError.__init__(reworded, well_formed(message))
    return reworded
