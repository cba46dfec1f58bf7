"""What a scripted model server answers: scripts, their rules and replies, for both of its APIs.

A script is a list of replies, used one after the other, or an object:

    {"models": ["scripted"], "api_key": null, "replies": [...],
     "rules": [{"when": "weather", "role": "user", "reply": {...}}], "missing": []}

The first rule whose `when` is in the last message (and whose `role`, if it has one, is that message's) answers, as
often as it fits; otherwise the next of the replies; when none is left, status 500 with "the script has no reply".
The result of a tool has the role "tool" in both APIs. `missing` are the APIs ("chat", "responses") that answer 404.

A reply is an object with any of these keys (in Python a `Reply`):

    text, chunks     the answer, sent in so many pieces (1); pieces without a delay may reach the client together
    thinking         sent before the text, as `reasoning_content` or as a reasoning item with its summary and, if the
                     request includes it, encrypted content
    calls            [{"name": "dice.roll", "arguments": {"count": 2}, "id": "call_1"}]; arguments that are a string are
                     sent as they are; an id that is left out is made up, an empty one is sent as null
    split            how calls are sent: in "halves" (default), each "whole", or all "together" in one chunk
    events           events to send instead of all these, as they are: an object as JSON, a string as it is
    finish           finish_reason; "auto" (default) is tool_calls or stop; null sends none. In the responses API length
                     and content_filter end in response.incomplete, failed in response.failed with `error` and `code`
    usage            null sends none; in the words of chat completions, also for the responses API
    done             false leaves out [DONE], which the responses API does not have
    plain            true answers with one JSON object although a stream was asked for
    delay, drip      seconds before each event; bytes at a time (0: whole events)
    status, headers  of the response; a status of 400 or more sends an error body with the message `error`, code `code`
    fault, after     "cut" (the connection ends), "hang" (until released) or "malformed" (broken JSON) after so many
                     events (1; the first is the empty one that opens the answer); 0 is before the response's first byte
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
_IDS = count(1)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a reply."""

    name: str
    arguments: Any = field(default_factory=dict[str, Any])
    id: str = field(default_factory=lambda: f"call_{next(_IDS)}")

    def to_dict(self) -> dict[str, Any]:
        text = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        return {"id": self.id or None, "type": "function", "function": {"name": self.name, "arguments": text}}


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers to one request; the module's docstring says what each field does."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[Call] = ()
    events: Sequence[Any] | None = None
    chunks: int = 1
    split: Literal["halves", "whole", "together"] = "halves"
    finish: str | None = "auto"
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    done: bool = True
    plain: bool = False
    delay: float = 0.0
    drip: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    error: str = "scripted error"
    code: str | None = None
    fault: Literal["cut", "hang", "malformed"] | None = None
    after: int = 1

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Reply:
        options: dict[str, Any] = {**value, "calls": [Call(**call) for call in value.get("calls", ())]}
        return cls(**options)

    def deltas(self) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": ""}
        if self.thinking:
            yield {"reasoning_content": self.thinking}
        yield from ({"content": piece} for piece in self.pieces())
        calls = [{"index": index, **call.to_dict()} for index, call in enumerate(self.calls)]
        if self.split == "together" and calls:
            yield {"tool_calls": calls}
        elif self.split == "whole":
            yield from ({"tool_calls": [call]} for call in calls)
        else:
            yield from (half for call in calls for half in _halves(call))

    def pieces(self) -> list[str]:
        size = max(1, -(-len(self.text) // self.chunks))
        return [self.text[start : start + size] for start in range(0, len(self.text), size)]

    @property
    def finish_reason(self) -> str | None:
        return ("tool_calls" if self.calls else "stop") if self.finish == "auto" else self.finish


def _halves(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    text: str = call["function"]["arguments"]
    half = len(text) // 2
    yield {"tool_calls": [{**call, "function": {**call["function"], "arguments": text[:half]}}]}
    yield {"tool_calls": [{"index": call["index"], "function": {"arguments": text[half:]}}]}


@dataclass(frozen=True, slots=True)
class Rule:
    """A reply to every request whose last message fits."""

    when: str
    reply: Reply
    role: str | None = None

    def fits(self, role: str, content: str) -> bool:
        return self.role in (None, role) and self.when in content


@dataclass(slots=True)
class Script:
    """All that a server will say."""

    replies: list[Reply] = field(default_factory=list[Reply])
    rules: list[Rule] = field(default_factory=list[Rule])
    models: list[str] = field(default_factory=lambda: ["scripted"])
    api_key: str | None = None
    missing: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, value: Any) -> Script:
        options: dict[str, Any] = {"replies": value} if isinstance(value, list) else dict(value)
        replies = [Reply.of(reply) for reply in options.pop("replies", ())]
        rules = [Rule(rule["when"], Reply.of(rule["reply"]), rule.get("role")) for rule in options.pop("rules", ())]
        return cls(replies, rules, **options)

    def reply(self, body: Mapping[str, Any]) -> Reply:
        last = (body.get("messages") or body["input"])[-1]
        role = "tool" if last.get("type") == "function_call_output" else last.get("role")
        for rule in self.rules:
            if rule.fits(role, str(last.get("content") or last.get("output") or "")):
                return rule.reply
        if self.replies:
            return self.replies.pop(0)
        return Reply(status=500, headers={"x-should-retry": "false"}, error=f"the script has no reply to {last!r}")


def events(reply: Reply, body: Mapping[str, Any]) -> list[str]:
    """The data of the events with which a reply is streamed as a chat completion."""
    end = ["[DONE]"] if reply.done else []
    if reply.events is not None:
        return [*(event if isinstance(event, str) else json.dumps(event) for event in reply.events), *end]
    chunks = [_chunk(body, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in reply.deltas()]
    if reply.finish_reason:
        chunks.append(_chunk(body, [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]))
    if reply.usage is not None and body.get("stream_options", {}).get("include_usage"):
        chunks.append(_chunk(body, [], reply.usage))
    return [*chunks, *end]


def whole(reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as one chat completion."""
    calls = {"tool_calls": [call.to_dict() for call in reply.calls]} if reply.calls else {}
    thinking = {"reasoning_content": reply.thinking} if reply.thinking else {}
    message = {"role": "assistant", "content": reply.text or None, **thinking, **calls}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    completion = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.get("model")}
    return {**completion, "choices": [choice], "usage": reply.usage}


def _chunk(body: Mapping[str, Any], choices: list[Any], usage: Any = None) -> str:
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body.get("model")}
    return json.dumps({**chunk, "choices": choices, "usage": usage})
