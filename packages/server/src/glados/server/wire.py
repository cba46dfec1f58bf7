"""The shapes on the wire: bodies are checked against them, and the OpenAPI document is made from them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from starlette.responses import JSONResponse

from glados.core.export_lines import MAX_TAG, MAX_TAGS, MAX_TITLE


def to_json(value: object) -> bytes:
    """JSON that every parser takes: NaN and infinity are null, half of a surrogate pair is written as an escape."""
    try:
        return pydantic_core.to_json(value, inf_nan_mode="null", fallback=str)
    except ValueError:  # a lone surrogate, which UTF-8 cannot hold
        plain = pydantic_core.to_jsonable_python(value, inf_nan_mode="null", fallback=str)
        return json.dumps(plain, separators=(",", ":")).encode("ascii")


class JsonResponse(JSONResponse):
    """An answer as it is: core's values are JSON already, and checking them again would only cost time."""

    def render(self, content: Any) -> bytes:
        """The content as JSON."""
        return to_json(content)


class Body(BaseModel):
    """The body of a request; a field that nobody knows is refused, because it is a typing error."""

    model_config = ConfigDict(extra="forbid")


class ChatRequest(Body):
    """A prompt for a new session, or for the one that `session_id` names."""

    prompt: str = Field(min_length=1, description="What the agent is asked to do.")
    session_id: str | None = Field(default=None, description="The session to go on with; a new one if left out.")
    on_question: Literal["wait", "deny"] | None = Field(
        default=None,
        description="Whether a permission question waits for an answer or is denied at once; by default a stream waits"
        " and a plain request denies.",
    )
    on_busy: Literal["queue", "reject"] = Field(
        default="queue", description="Whether the prompt waits for its turn while the session is busy."
    )


class UsageReply(BaseModel):
    """Tokens, all model calls of the run together."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int


class ChatReply(BaseModel):
    """How the run ended; `agent:run_end`, the last event of a stream, carries the same."""

    session_id: str
    run_id: str
    response: str
    stop: str = Field(description="Why the run ended: 'end' when the model was done.")
    steps: list[dict[str, Any]] = Field(description="The model calls and tool calls of the run, in order.")
    usage: UsageReply
    cost: float | None = Field(default=None, description="US dollars, where the prices of all models used are known.")
    output: dict[str, Any] | None = Field(default=None, description="The answer as data, where a form was asked for.")


class NewSession(Body):
    """A session to begin."""

    title: str | None = Field(default=None, max_length=MAX_TITLE)


Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE)]
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TAG)]


class SessionChange(Body):
    """What changes about a session; what is left out stays."""

    title: Title | None = None
    tags: list[Tag] | None = Field(default=None, max_length=MAX_TAGS, description="Instead of those that it has.")

    @model_validator(mode="after")
    def _says_something(self) -> SessionChange:
        if self.title is None and self.tags is None:
            raise ValueError("give a title or tags")
        return self


class ForkRequest(Body):
    """Where a session forks, and what the new one is called."""

    at: str | None = Field(default=None, description="The last entry that is copied; the head if left out.")
    title: Title | None = Field(default=None, description="That of the forked session if left out.")


class SwitchRequest(Body):
    """The entry that the next one follows."""

    entry_id: str | None = Field(description="An entry of the session; null begins anew.")


class SessionReply(BaseModel):
    """A session; `seq` is the number of its last entry and `head` the entry that the next one follows."""

    id: str
    title: str | None
    created_at: str
    updated_at: str
    parent_id: str | None
    principal: str
    seq: int
    head: str | None
    tags: list[str]
    usage: UsageReply = Field(description="Tokens of all model calls in it and in the sessions below it.")
    cost: float | None = Field(description="US dollars, where the prices of all models used are known.")
    forked_from: str | None
    tainted: bool = Field(description="Whether its history came from outside.")


class ModelCostReply(BaseModel):
    """All calls of one model in a session and in the sessions below it."""

    model: str
    calls: int
    usage: UsageReply
    cost: float | None = Field(description="US dollars, where the price of every call is known.")


class SessionDetail(SessionReply):
    """A session, and what was spent in it by model."""

    costs: list[ModelCostReply]


class FoundReply(BaseModel):
    """A prompt or an answer that a search found."""

    session_id: str
    title: str | None
    entry_id: str
    seq: int
    role: str
    snippet: str = Field(description="The text around what was found.")
    created_at: str


class ChargeReply(BaseModel):
    """A model call behind an entry; what is not known is null."""

    model: str
    usage: UsageReply | None
    cost: float | None


class EntryReply(BaseModel):
    """One line of a session's log, numbered from 1 without gaps."""

    id: str
    session_id: str
    seq: int
    parent_id: str | None
    kind: str
    payload: dict[str, Any]
    created_at: str
    run_id: str | None
    principal: str
    origin_id: str | None = Field(default=None, description="The entry that it was copied from; left out if none.")
    charges: list[ChargeReply] = Field(default=[], description="The model calls behind it; left out if none.")


class AbortReply(BaseModel):
    """Whether there was a run to abort."""

    aborted: bool


class ToolReply(BaseModel):
    """A tool as every listing shows it."""

    id: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    flags: dict[str, bool]


class ToolCall(Body):
    """One call of a tool; `approve` answers its permission question with yes, once."""

    input: dict[str, Any] = Field(default_factory=dict)
    approve: bool = False


class ToolOutput(BaseModel):
    """What the tool returned."""

    output: dict[str, Any]


class PluginReply(BaseModel):
    """A plugin, whether it runs, and the reason if it does not."""

    id: str
    version: str | None
    distribution: str | None
    state: Literal["enabled", "disabled", "failed"]
    reason: str | None
    requires: list[str]


class QuestionReply(BaseModel):
    """A permission question that waits for a person."""

    id: str
    session_id: str | None
    run_id: str | None
    call_id: str
    tool_id: str
    input: dict[str, Any]
    text: str
    why: str
    created_at: str
    session_rule: str | None = Field(description="What the answer 'session' would allow from then on.")


class RuleReply(BaseModel):
    """A rule that a person gave, for good or for one session."""

    id: str
    effect: Literal["allow", "ask", "deny"]
    rule: str = Field(description="The rule as settings write it, such as web-fetch.fetch(domain=example.com).")
    principal: str
    created_at: str
    session_id: str | None = Field(description="The session that it holds in; null where it holds for good.")


class AnswerRequest(Body):
    """A person's answer."""

    answer: Literal["once", "session", "always", "deny"]


class AnswerReply(BaseModel):
    """The question that was answered, and how."""

    id: str
    answer: Literal["once", "session", "always", "deny"]


class Health(BaseModel):
    """Whether the server is there, or ready."""

    status: Literal["ok", "ready", "starting"]


class Problem(BaseModel):
    """What went wrong (RFC 9457); `code` is stable, `detail` says what to do next."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    data: dict[str, Any]
