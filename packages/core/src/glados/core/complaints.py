"""What is wrong with a setting and what is allowed instead, in one sentence that a person can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

HIDDEN = "**********"
_LONGEST = 100  # characters of a wrong value that are repeated
_NUMBERS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"}
_TABLES = {"dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"}
_LISTS = {"list_type", "tuple_type", "set_type", "frozen_set_type"}


def wrong_value(what: str, info: FieldInfo, value: Any, fault: ErrorDetails, *, secret: bool) -> str:
    """The complaint about a value that somebody gave; a secret is not repeated."""
    place = _place(fault["loc"][1:], value)
    hint = f"{place}, {_allowed(fault, info)}" if place else _allowed(fault, info)
    if secret:
        hint = hint.replace(str(value), HIDDEN) if str(value) else hint
    return f"{what} is {HIDDEN if secret else shortened(value)}, which is not allowed: {hint}."


def shortened(value: Any) -> str:
    """A value as a sentence can hold it."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def said(fault: ErrorDetails) -> str:
    """What a validator said itself, as the end of a sentence."""
    text = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return " ".join(text.split()).rstrip(".")


def _allowed(fault: ErrorDetails, info: FieldInfo) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    top = len(fault["loc"]) == 1
    if kind.startswith(("int_", "float_", "decimal_")) or kind in _NUMBERS:
        whole = kind.startswith("int_") or (top and "int" in _type_name(info))
        limits = _limits(info.metadata) if top else _own_limit(kind, context)
        return f"give a {'whole ' if whole else ''}number{limits}"
    if kind.startswith("bool_"):
        return "give true or false"
    if kind in ("literal_error", "enum"):
        return f"give {context['expected']}"
    if kind in _LISTS:
        return "give a list, in the environment comma-separated or as JSON"
    if kind in _TABLES:
        return "give a table, in the environment as a JSON object"
    if kind == "missing":
        return "a value is required"
    text = said(fault)
    if text.startswith("Input should be "):
        return f"give {text.removeprefix('Input should be ')}"
    return text if kind in ("value_error", "assertion_error") else text[:1].lower() + text[1:]


def _type_name(info: FieldInfo) -> str:
    return getattr(info.annotation, "__name__", None) or str(info.annotation)


def _limits(metadata: Sequence[Any]) -> str:
    """The bounds that a field declares: ` from 1 to 10`, ` of at least 1`, ` above 0 and at most 600`."""
    low = next((m.ge for m in metadata if isinstance(m, Ge)), None)
    high = next((m.le for m in metadata if isinstance(m, Le)), None)
    if low is not None and high is not None:
        return f" from {low} to {high}"
    words = [f"of at least {low}"] if low is not None else []
    words += [f"above {m.gt}" for m in metadata if isinstance(m, Gt)]
    words += [f"at most {high}"] if high is not None else []
    words += [f"below {m.lt}" for m in metadata if isinstance(m, Lt)]
    return f" {' and '.join(words)}" if words else ""


def _own_limit(kind: str, context: Mapping[str, Any]) -> str:
    """The bound that a value inside a list or a table missed."""
    words = {"greater_than": "above", "greater_than_equal": "of at least", "less_than": "below"}
    limit = next(iter(context.values()), None) if kind in _NUMBERS else None
    return "" if limit is None else f" {words.get(kind, 'of at most')} {limit}"


def _place(path: Sequence[int | str], value: Any) -> str:
    """Where inside a list or a table the fault is; pydantic's names for the members of a union are left out."""
    words: list[str] = []
    for part in path:
        if isinstance(part, int):
            words.append(f"item {part + 1}")
            items = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else ()
            value = items[part] if part < len(items) else None
        elif isinstance(value, Mapping):
            words.append(repr(part))
            value = cast("Mapping[str, Any]", value).get(part)
    return f"in {' of '.join(reversed(words))}" if words else ""
