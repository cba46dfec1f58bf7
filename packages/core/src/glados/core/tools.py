"""A tool: a function with typed input and output, and flags that fail closed."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ValidationError

from glados.core.errors import GladosError, PluginError, ToolError
from glados.core.notices import Note, Truncation
from glados.core.session_entries import SessionEntry, SessionLog
from glados.core.sessions import Entry
from glados.core.signatures import Wrapped, read_signature

if TYPE_CHECKING:
    from glados.core.agents import Agent
    from glados.core.results import RunResult
    from glados.core.services import Services

Flag = bool | Callable[[Any], bool]
TOOL_ID = re.compile(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9_-]*")
DEFAULT_TIMEOUT = 120.0
DEFAULT_MAX_RESULT_CHARS = 100_000


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What a tool tells the permission rules besides its input: more fields to match, and words for the question."""

    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ToolFlags:
    """What one call may do, once its input is known."""

    read_only: bool
    destructive: bool
    concurrent: bool
    idempotent: bool
    open_world: bool
    untrusted_output: bool

    def to_dict(self) -> dict[str, bool]:
        """The flags as listings show them."""
        return {name: getattr(self, name) for name in self.__slots__}


class ToolHost(Protocol):
    """What a running call can ask of the host; the pipeline implements it."""

    async def progress(self, ctx: ToolContext, message: str, done: float | None, total: float | None) -> None: ...

    async def ask(self, ctx: ToolContext, text: str) -> bool: ...

    async def call(self, ctx: ToolContext, tool_id: str, input: Mapping[str, Any]) -> dict[str, Any]: ...

    async def run(self, ctx: ToolContext, agent: Agent, prompt: str) -> RunResult: ...

    def note(self, note: Note) -> None: ...

    def mark_untrusted(self) -> None: ...

    async def append(self, ctx: ToolContext, entry: SessionEntry) -> Entry: ...

    def branch(self, ctx: ToolContext) -> Sequence[Entry]: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The call's identity, the services, and the ways back to the person who waits."""

    call_id: str
    tool_id: str
    session_id: str | None
    run_id: str | None
    services: Services
    host: ToolHost

    @property
    def session(self) -> SessionLog:
        """The log of the session; only a call inside a run has one."""
        return SessionLog(partial(self.host.append, self), partial(self.host.branch, self))

    async def progress(self, message: str, *, done: float | None = None, total: float | None = None) -> None:
        """Tell whoever watches how far the call is."""
        await self.host.progress(self, message, done, total)

    async def ask(self, text: str) -> bool:
        """Ask the person a yes-or-no question; False when nobody is there to answer."""
        return await self.host.ask(self, text)

    async def call(self, tool_id: str, input: Mapping[str, Any]) -> dict[str, Any]:
        """Call another tool through the whole pipeline, under this call's rights."""
        return await self.host.call(self, tool_id, input)

    async def run(self, agent: Agent, prompt: str) -> RunResult:
        """Let another agent work on a prompt in a session of its own, within this run's rights and limits."""
        return await self.host.run(self, agent, prompt)

    def note(self, note: Note) -> None:
        """Attach a fact about the result (Truncation, Source, Limit); the model reads it as a notice behind it."""
        self.host.note(note)

    def mark_untrusted(self) -> None:
        """Say that this result comes from outside, though the tool's results usually do not."""
        self.host.mark_untrusted()


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool of a plugin; it can still be called as the function that it was made from."""

    id: str
    description: str
    function: Callable[..., Any]
    input_model: type[BaseModel]
    output_model: type[BaseModel]
    read_only: Flag
    destructive: Flag | None
    concurrent: Flag
    idempotent: Flag
    open_world: bool
    untrusted_output: bool
    timeout: float
    max_result_chars: int
    validate: Callable[[Any], Awaitable[None] | None] | None
    permission: Callable[[Any], PermissionRequest] | None
    render: Callable[[Any], str] | None
    whole_input: bool
    wants_context: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The input's JSON schema, as the model and every listing see it."""
        return self.input_model.model_json_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The output's JSON schema."""
        return self.output_model.model_json_schema(mode="serialization")

    def flags(self, input: BaseModel | None = None) -> ToolFlags:
        """The flags for one input; without one, or where a flag's function raises, a flag counts as unsafe."""
        read_only = _flag(self.read_only, input, unsafe=False)
        destructive = self.destructive
        return ToolFlags(
            read_only=read_only,
            destructive=not read_only if destructive is None else _flag(destructive, input, unsafe=True),
            concurrent=_flag(self.concurrent, input, unsafe=False),
            idempotent=_flag(self.idempotent, input, unsafe=False),
            open_world=self.open_world,
            untrusted_output=self.untrusted_output,
        )

    def arguments(self, input: BaseModel, ctx: ToolContext) -> dict[str, Any]:
        """The keyword arguments with which the function is called."""
        if self.whole_input:
            arguments: dict[str, Any] = {"input": input}
        else:
            arguments = {name: getattr(input, name) for name in self.input_model.model_fields}
        if self.wants_context:
            arguments["ctx"] = ctx
        return arguments

    def output(self, value: Any) -> BaseModel:
        """What the function returned, as its output model."""
        if isinstance(value, self.output_model):
            return value
        try:
            if issubclass(self.output_model, Wrapped):
                return self.output_model.model_validate({"result": value})
            return self.output_model.model_validate(value)
        except ValidationError as error:
            where = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3])
            raise ToolError(
                f"{self.id} returned something that does not fit its output ({where}): its plugin has to be mended.",
                tool=self.id,
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """The tool as listings show it."""
        return {
            "id": self.id,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "flags": self.flags().to_dict(),
        }


def tool(
    id: str,
    *,
    read_only: Flag = False,
    destructive: Flag | None = None,
    concurrent: Flag = False,
    idempotent: Flag = False,
    open_world: bool = True,
    untrusted_output: bool | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    max_result_chars: int = DEFAULT_MAX_RESULT_CHARS,
    validate: Callable[[Any], Awaitable[None] | None] | None = None,
    permission: Callable[[Any], PermissionRequest] | None = None,
    render: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function; every flag that is not given is the unsafe one.

    A parameter `input` with a pydantic model is the input, otherwise each parameter is a field of it; `ctx` is the
    ToolContext if it is asked for. The docstring is what the model reads.
    """
    if not TOOL_ID.fullmatch(id):
        raise PluginError(f"{id!r} is no tool id: write it as 'plugin-id.tool-name', in lower case.", tool=id)
    names_in_scope = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage] # hints may name models that are local to the caller

    def decorate(function: Callable[..., Any]) -> Tool:
        description = inspect.getdoc(function)
        if not description:
            raise PluginError(f"Tool {id!r} has no docstring: say in one what it does, the model reads it.", tool=id)
        signature = read_signature(id, function, names_in_scope)
        return Tool(
            id=id,
            description=description,
            function=function,
            input_model=signature.input_model,
            output_model=signature.output_model,
            read_only=read_only,
            destructive=destructive,
            concurrent=concurrent,
            idempotent=idempotent,
            open_world=open_world,
            untrusted_output=open_world if untrusted_output is None else untrusted_output,
            timeout=timeout,
            max_result_chars=max_result_chars,
            validate=validate,
            permission=permission,
            render=render,
            whole_input=signature.whole_input,
            wants_context=signature.wants_context,
        )

    return decorate


def _flag(flag: Flag, input: BaseModel | None, *, unsafe: bool) -> bool:
    if isinstance(flag, bool):
        return flag
    if input is None:
        return unsafe
    try:
        answer: Any = flag(input)
    except (Exception, SystemExit):
        return unsafe
    return answer if answer is True or answer is False else unsafe  # a coroutine would count as yes


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How one call ended: its output, or the error, what is told of it as text, and the facts about that text."""

    call_id: str
    tool_id: str
    text: str
    output: BaseModel | None = None
    error: GladosError | None = None
    untrusted: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def artifact_id(self) -> str | None:
        """Where the whole text is kept, if it was cut."""
        return next((note.artifact_id for note in self.notes if isinstance(note, Truncation)), None)

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return self.error is not None

    @property
    def code(self) -> str | None:
        """The error's code, if the call failed."""
        return self.error.code if self.error is not None else None
