"""Answers as data: the model is told a schema, and asked again while its answer does not fit."""

from __future__ import annotations

import json
import re

from pydantic import BaseModel, PydanticUserError, ValidationError

from glados.core.errors import ModelError, RequestError

MAX_ASKED_AGAIN = 5
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<json>.*?)\n?\s*```\s*", re.DOTALL | re.IGNORECASE)


class InvalidOutput(ModelError):
    """The model could not be brought to answer in the form that was asked for."""

    code = "invalid_output"


def instructions(output: type[BaseModel]) -> str:
    """What the system prompt says of the form of the answer."""
    try:
        schema = json.dumps(output.model_json_schema(), ensure_ascii=False, sort_keys=True)
    except PydanticUserError as error:
        raise RequestError(f"{output.__name__} has no JSON schema, so no model can answer with it: {error}") from None
    return f"When you are done, answer with one JSON object and nothing else; it has to fit this JSON schema: {schema}"


def parse(text: str, output: type[BaseModel]) -> BaseModel | str:
    """The answer as data, or what is wrong with it, told so that the model can mend it."""
    fenced = _FENCED.fullmatch(text)
    try:
        return output.model_validate_json(fenced["json"] if fenced else text.strip())
    except ValidationError as error:
        faults = error.errors(include_url=False)[:5]
    told = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in faults)
    return f"Your answer does not fit the JSON schema ({told}). Answer again with the JSON object alone."
