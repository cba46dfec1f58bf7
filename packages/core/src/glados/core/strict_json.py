"""JSON from outside, read strictly: what parsers disagree on, and what not every database can store, is refused."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, cast

MAX_DEPTH = 64
_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_LONE = re.compile(rb"\\u[dD][89a-fA-F]")


class UncleanJson(ValueError):
    """The JSON is broken, or allowed by the grammar and not by us; the text says which, without a full stop."""


def strict_json(data: bytes, *, zeros: bool = False) -> Any:
    """The value, or UncleanJson; `zeros` lets strings hold the character \\u0000, which databases keep only as JSON."""
    try:
        value: object = json.loads(
            data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
    except UnicodeDecodeError as error:
        raise UncleanJson(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise UncleanJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _too_deep() from None
    except UncleanJson:
        raise
    except ValueError:  # the interpreter's own limit on the digits of an integer
        raise UncleanJson("a number has too many digits") from None
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    _check_escapes(data, zeros)
    return value


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise _too_deep()


def _children(item: object) -> list[object]:
    """The containers directly inside of a container; the iteration never recurses, whatever the depth."""
    if isinstance(item, dict):
        values = cast("dict[str, object]", item).values()
    elif isinstance(item, list):
        values = cast("list[object]", item)
    else:
        return []
    return [value for value in values if isinstance(value, (dict, list))]


def _check_escapes(data: bytes, zeros: bool) -> None:
    """NUL and lone surrogates can only come as escapes: the bytes are valid UTF-8 and JSON allows no raw NUL."""
    if b"\\u" not in data:
        return
    escapes = data.replace(b"\\\\", b"__")
    if not zeros and b"\\u0000" in escapes:
        raise UncleanJson(r"a string holds the character \u0000")
    if _LONE.search(_PAIR.sub(b"", escapes)):
        raise UncleanJson("a string holds half of a surrogate pair")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise UncleanJson(f"the key {twice!r} stands twice in one object")
    return found


def _constant(name: str) -> NoReturn:
    raise UncleanJson(f"{name} is no JSON number")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UncleanJson(f"the number {text[:40]} is too large")
    return number


def _too_deep() -> UncleanJson:
    return UncleanJson(f"it is nested deeper than {MAX_DEPTH} levels")
