"""What a tool's function takes and gives, read from its type hints as pydantic models."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, RootModel, create_model
from typing_extensions import is_typeddict

from glados.core.errors import PluginError

Parameters = Mapping[str, inspect.Parameter]


class Wrapped(BaseModel):
    """The base of output models made for results that are no object."""


class _Strict(BaseModel):
    """The base of input models made from parameters: a field that is no parameter is a mistake."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Signature:
    """The models of a tool, and how its function is called with them."""

    input_model: type[BaseModel]
    output_model: type[BaseModel]
    whole_input: bool
    wants_context: bool


def read_signature(id: str, function: Callable[..., Any], names_in_scope: Mapping[str, Any]) -> Signature:
    """Read the signature of a tool's function; what cannot be used is refused with the tool and the fault."""
    hints = _hints(id, function, names_in_scope)
    parameters = inspect.signature(function).parameters
    whole = _is_whole_input(id, parameters, hints)
    return Signature(
        input_model=hints["input"] if whole else _input_model(id, parameters, hints),
        output_model=_output_model(id, hints["return"]),
        whole_input=whole,
        wants_context="ctx" in parameters,
    )


def _hints(id: str, function: Callable[..., Any], names_in_scope: Mapping[str, Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, localns=dict(names_in_scope), include_extras=True)
    except NameError as error:
        raise PluginError(f"Tool {id!r} has a type hint that cannot be resolved: {error}.", tool=id) from None
    if "return" not in hints:
        raise PluginError(f"Tool {id!r} does not say what it returns: add a return type.", tool=id)
    return hints


def _is_whole_input(id: str, parameters: Parameters, hints: Mapping[str, Any]) -> bool:
    whole = hints.get("input")
    if not _is_model(whole):
        return False
    for name in parameters:
        if name not in ("input", "ctx"):
            raise PluginError(f"Tool {id!r} has {name!r} beside 'input': make it a field of the model.", tool=id)
    return True


def _input_model(id: str, parameters: Parameters, hints: Mapping[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise PluginError(f"Tool {id!r}: parameter {name!r} goes only by position: take out the '/'.", tool=id)
        if name == "ctx":
            continue
        if name.startswith("_"):
            raise PluginError(f"Tool {id!r}: parameter {name!r} begins with '_': a field cannot.", tool=id)
        if name not in hints or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PluginError(f"Tool {id!r}: parameter {name!r} needs a type hint of its own.", tool=id)
        fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    return _made(id, lambda title: create_model(f"{title}Input", __base__=_Strict, **fields))


def _output_model(id: str, hint: Any) -> type[BaseModel]:
    if _is_model(hint):
        return hint
    if hint is dict or get_origin(hint) is dict or is_typeddict(hint):
        return _made(id, lambda _: RootModel[hint])
    return _made(id, lambda title: create_model(f"{title}Output", __base__=Wrapped, result=(hint, ...)))


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _made(id: str, make: Callable[[str], type[BaseModel]]) -> type[BaseModel]:
    title = "".join(part.capitalize() for part in re.split(r"[._-]", id))
    try:
        return make(title)
    except PydanticUserError as error:
        why = str(error).splitlines()[0]
        raise PluginError(f"Tool {id!r} has a type that has no JSON schema: {why}", tool=id) from None
