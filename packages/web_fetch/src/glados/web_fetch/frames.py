"""What goes over the pipe between the converter and its workers: two lengths, a JSON object, and bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

LENGTHS = struct.Struct(">II")
# The first byte of a worker, which says that it has started.
READY = b"\n"


def packed(header: Mapping[str, Any], body: bytes) -> tuple[bytes, bytes]:
    """A frame as two pieces, so that a long body is not copied."""
    encoded = json.dumps(header).encode()
    return LENGTHS.pack(len(encoded), len(body)) + encoded, body


def parse_header(data: bytes) -> dict[str, Any]:
    """The JSON object of a frame."""
    header = json.loads(data)
    if not isinstance(header, dict):
        raise TypeError("the header of a frame is an object")
    return header  # pyright: ignore[reportUnknownVariableType] json gives no types
