"""The first two phases of a call: its tool and its schema, then what its input means."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from glados.core.errors import InvalidInput, ToolNotFound
from glados.core.messages import ToolCallPart
from glados.core.tools import Tool, ToolFlags


@dataclass(frozen=True, slots=True)
class Checked:
    """A call whose input fits its schema."""

    call: ToolCallPart
    tool: Tool
    input: BaseModel
    flags: ToolFlags


def find(tool_id: str, tools: Mapping[str, Tool]) -> Tool:
    """The tool of that id; an unknown one is told with the nearest that there is."""
    tool = tools.get(tool_id)
    if tool is None:
        near = difflib.get_close_matches(tool_id, tools, 1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(tools) or 'no tools'}."
        raise ToolNotFound(f"There is no tool {tool_id!r}: {meant}", tool=tool_id)
    return tool


def validated(tool: Tool, arguments: str) -> BaseModel:
    """The schema phase: the arguments as the tool's input, or what is wrong with them."""
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


async def check_meaning(checked: Checked) -> None:
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
