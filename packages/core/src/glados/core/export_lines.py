"""The shapes of exported lines: what stands in a session, an entry, a message, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from glados.core.sessions import EntryKind

MAX_TITLE = 500  # characters
MAX_TAG = 100
MAX_TAGS = 50
MAX_CHARGES = 10_000  # model calls behind one entry
MAX_TOKENS = 10**12  # of one model call; so many add up to what a database can count


def _time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
Time = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3,6}\+00:00$"),
    AfterValidator(_time),
]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Principal = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,255}$")]
Tokens = Annotated[int, Field(ge=0, le=MAX_TOKENS)]


class Line(BaseModel):
    """Checked without conversions; a field that nobody knows is refused."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)


class SessionLine(Line):
    """The first line of a session."""

    type: Literal["session"]
    version: int
    id: Id
    title: Annotated[str, Field(max_length=MAX_TITLE)] | None
    created_at: Time
    updated_at: Time
    parent_id: Id | None
    principal: Principal
    seq: Annotated[int, Field(ge=0)]
    head: Id | None
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=MAX_TAG)]], Field(max_length=MAX_TAGS)]
    forked_from: Id | None


class UsageLine(Line):
    """Tokens of a model call."""

    input_tokens: Tokens
    output_tokens: Tokens
    cached_tokens: Tokens
    reasoning_tokens: Tokens


class ChargeLine(Line):
    """A model call behind an entry."""

    model: Name
    usage: UsageLine | None
    cost: Annotated[float, Field(ge=0, le=1e9)] | None


class EntryLine(Line):
    """The line of an entry."""

    type: Literal["entry"]
    id: Id
    session_id: Id
    seq: int
    parent_id: Id | None
    kind: EntryKind
    payload: dict[str, Any]
    created_at: Time
    run_id: Id | None
    principal: Principal
    origin_id: Id | None = None
    charges: Annotated[list[ChargeLine], Field(max_length=MAX_CHARGES)] = []


class TextLine(Line):
    """Text of a message."""

    type: Literal["text"]
    text: str


class ThinkingLine(Line):
    """What a model said of its thinking."""

    type: Literal["thinking"]
    text: str
    data: dict[str, Any] | None


class ImageLine(Line):
    """A picture; that it is its bytes or its address, and not both, the picture itself checks."""

    type: Literal["image"]
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class CallLine(Line):
    """A tool call."""

    type: Literal["tool_call"]
    id: Name
    tool_id: Name
    arguments: str


class NoteLine(Line):
    """A fact about a result; each type has fields of its own."""

    model_config = ConfigDict(extra="allow")

    type: str


class ResultLine(Line):
    """What came of a tool call."""

    type: Literal["tool_result"]
    call_id: Name
    tool_id: Name
    text: str
    is_error: bool
    code: str | None
    data: dict[str, Any] | None
    images: list[ImageLine] = []
    untrusted: bool = False
    artifact_id: str | None = None
    meta: list[NoteLine] = []


class UserLine(Line):
    """The payload of a prompt."""

    role: Literal["user"]
    parts: list[Annotated[TextLine | ImageLine, Field(discriminator="type")]]
    model: Name | None = None
    stop: str | None = None


class AssistantLine(Line):
    """The payload of an answer."""

    role: Literal["assistant"]
    parts: list[Annotated[TextLine | ThinkingLine | ImageLine | CallLine, Field(discriminator="type")]]
    model: Name | None = None
    stop: str | None = None


class ToolLine(Line):
    """The payload of results."""

    role: Literal["tool"]
    parts: list[ResultLine]
    model: Name | None = None
    stop: str | None = None


class MessageLine(Line):
    """An entry that is a message; each role has parts of its own."""

    payload: Annotated[UserLine | AssistantLine | ToolLine, Field(discriminator="role")]


class Payload(Line):
    """What others read of every payload that is no message; each kind has fields of its own."""

    model_config = ConfigDict(extra="allow")

    tainted: bool = False
    fence: Annotated[str, Field(pattern=r"^[0-9]{1,32}$")] | None = None


class PayloadLine(Line):
    """An entry that is neither a message nor a compaction."""

    payload: Payload


class Compaction(Payload):
    """The payload of a compaction."""

    summary: str
    first_kept_id: Id


class CompactionLine(Line):
    """An entry that is a compaction."""

    payload: Compaction
