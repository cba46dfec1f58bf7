"""The ids of sessions that agents work in for a tool call: they say which call of which message asked for them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

MAX_CALL = 64  # characters of a call's id that stay as they are
_CALL = re.compile(r"[A-Za-z0-9_.](?:-?[A-Za-z0-9_.])*")  # what an address can carry; `--` stands before the number
_ID = re.compile(
    rf"agent-tool-(?P<message>[0-9a-f]{{32}})-(?P<call>{_CALL.pattern})(?:--(?P<number>[2-9]|[1-9][0-9]{{1,8}}))?"
)


@dataclass(frozen=True, slots=True)
class ChildId:
    """`agent-tool-MESSAGE-CALL`, and `--2` behind it for the second child of the same call.

    A call's id that is too long, or has other characters than `A-Za-z0-9_.` and single dashes inside, is told by a
    short hash.
    """

    message: str
    call: str
    number: int = 1

    @classmethod
    def of(cls, message: str, call: str, number: int = 1) -> ChildId:
        """The id of a call's child."""
        if len(call) > MAX_CALL or not _CALL.fullmatch(call):
            call = f"h{hashlib.sha256(call.encode(errors='surrogatepass')).hexdigest()[:16]}"
        return cls(message, call, number)

    @classmethod
    def parse(cls, id: str) -> ChildId | None:
        """What the id of a session says; None if it is not one of a child."""
        match = _ID.fullmatch(id)
        return cls(match["message"], match["call"], int(match["number"] or 1)) if match is not None else None

    def next(self) -> ChildId:
        """The id of the call's next child."""
        return replace(self, number=self.number + 1)

    def __str__(self) -> str:
        return f"agent-tool-{self.message}-{self.call}{f'--{self.number}' if self.number > 1 else ''}"
