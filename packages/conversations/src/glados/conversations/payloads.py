"""Payloads as JSON text, and back: the text is read straight into messages, many of them in one call.

The text has escapes for what a database cannot hold (NUL), and no halves of characters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from glados.core.messages import (
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    well_formed,
)
from glados.core.sessions import Charge

Payload = Message | dict[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encoded(payload: Payload) -> tuple[Payload, str]:
    """A payload as JSON text, and as it will be read again: halves of characters are replaced."""
    is_message = isinstance(payload, Message)
    raw = _encode(payload.to_dict() if is_message else payload)
    text = well_formed(raw)
    return (payload if text is raw else decoded(text, is_message=is_message)), text


def decoded(text: str, *, is_message: bool) -> Payload:
    """One payload."""
    return decoded_messages((text,))[0] if is_message else json.loads(text)


def decoded_messages(texts: Sequence[str]) -> list[Message]:
    """The messages of these texts."""
    return _messages().validate_json(f"[{','.join(texts)}]")


def encoded_extra(origin_id: str | None, charges: Sequence[Charge]) -> str | None:
    """What few entries have, as JSON text: most have none of it."""
    if origin_id is None and not charges:
        return None
    return well_formed(_encode({"origin_id": origin_id, "charges": [charge.to_dict() for charge in charges]}))


def decoded_extra(text: str) -> tuple[str | None, tuple[Charge, ...]]:
    """An entry's origin and its charges."""
    extra = json.loads(text)
    charges = (
        Charge(item["model"], Usage(**item["usage"]) if item["usage"] else None, item["cost"])
        for item in extra["charges"]
    )
    return extra["origin_id"], tuple(charges)


@lru_cache(maxsize=1)
def _messages() -> SchemaValidator:
    """Reads a list of messages; what `to_dict` leaves out has its default."""
    text = core_schema.str_schema(strict=True)
    maybe = core_schema.nullable_schema(text)
    flag = core_schema.bool_schema(strict=True)
    anything = core_schema.any_schema()
    image = _dataclass(ImagePart, media_type=maybe, data=maybe, url=maybe)
    result = _dataclass(
        ToolResultPart,
        call_id=text,
        tool_id=text,
        text=text,
        is_error=flag,
        code=maybe,
        data=anything,
        images=_many(image),
        untrusted=flag,
        artifact_id=maybe,
        meta=_many(anything),
    )
    parts = {
        "text": _dataclass(TextPart, text=text),
        "thinking": _dataclass(ThinkingPart, text=text, data=anything),
        "image": image,
        "tool_call": _dataclass(ToolCallPart, id=text, tool_id=text, arguments=text),
        "tool_result": result,
    }
    part = core_schema.tagged_union_schema(parts, "type")
    message = _dataclass(Message, role=text, parts=_many(part), model=maybe, stop=maybe)
    return SchemaValidator(core_schema.list_schema(message))


def _many(item: core_schema.CoreSchema) -> core_schema.CoreSchema:
    return core_schema.tuple_schema([item], variadic_item_index=0)


def _dataclass(cls: type[Any], **schemas: core_schema.CoreSchema) -> core_schema.CoreSchema:
    """A dataclass whose fields are set without its `__init__`: what was stored had been checked."""
    arguments = [
        core_schema.dataclass_field(
            field.name,
            schemas[field.name]
            if field.default is MISSING
            else core_schema.with_default_schema(schemas[field.name], default=field.default),
        )
        for field in fields(cls)
    ]
    names = [field.name for field in fields(cls)]
    read = core_schema.dataclass_args_schema(cls.__name__, arguments, extra_behavior="ignore")
    return core_schema.dataclass_schema(cls, read, names, slots=True)
