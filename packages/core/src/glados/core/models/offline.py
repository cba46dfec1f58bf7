"""The model that answers when none is configured: it runs tools from plain commands and says how to get a real one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from glados.core.agents import READ_ON
from glados.core.fences import unfenced
from glados.core.messages import Message, ToolCallPart, ToolResultPart, Usage
from glados.core.model import ModelDelta, ModelDone, ModelRequest, TextDelta, ToolCallDelta
from glados.core.outcomes import content
from glados.core.sessions import new_id

CONFIGURE = (
    "To talk to a real model, set OPENAI_API_KEY (and MODEL_NORMAL), or OPENAI_BASE_URL for a compatible server."
)
_FETCH = ("fetch", "get", "read", "open")
_MODES = ("html", "markdown", "links")


@dataclass(frozen=True, slots=True)
class _Command:
    """One plain command: which tool it means and with what; an explicit one is tried even if there is no such tool."""

    tool_id: str
    arguments: str
    explicit: bool = False


class OfflineModel:
    """Needs no network; understands `fetch URL [as MODE]`, `allow DOMAIN` and `/call TOOL JSON`."""

    name = "offline"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Turn the prompt into a tool call, or the tool's result into an answer."""
        last = request.messages[-1]
        tools = {tool.id for tool in request.tools}
        if last.role == "tool":
            async for delta in _say(_answer(last)):
                yield delta
            return
        command = _command(last.text)
        if command is None or not (command.explicit or command.tool_id in tools):
            # reading on is nothing that a person would ask for
            async for delta in _say(_help({id for id in tools if id != READ_ON})):
                yield delta
            return
        yield ToolCallDelta(ToolCallPart(f"call_{new_id()[:12]}", command.tool_id, command.arguments))
        yield ModelDone("tool_calls", Usage(), self.name)

    async def close(self) -> None:
        """Nothing is held."""


async def _say(text: str) -> AsyncIterator[ModelDelta]:
    yield TextDelta(text)
    yield ModelDone("end", Usage(), OfflineModel.name)


def _command(prompt: str) -> _Command | None:
    match prompt.split(None, 2):
        case [word, tool_id, *rest] if word.lower() == "/call":
            return _Command(tool_id, rest[0] if rest else "{}", explicit=True)
        case _:
            return _plain_command(prompt.rstrip(" \t\r\n.!").split())


def _plain_command(words: list[str]) -> _Command | None:
    lower = [word.lower() for word in words]
    match words[1:] if lower[:1] == ["please"] else words:
        case [verb, url, *rest] if verb.lower() in _FETCH and _is_address(url):
            return _fetch(url, [word.lower() for word in rest])
        case [verb, domain] if verb.lower() == "allow" and _is_address(domain):
            return _Command("web-fetch.add-domain", json.dumps({"domain": domain}))
        case _:
            return None


def _fetch(url: str, rest: list[str]) -> _Command | None:
    input = {"url": url if "://" in url else f"https://{url}"}
    match rest:
        case []:
            return _Command("web-fetch.fetch", json.dumps(input))
        case ["as", mode] if mode in _MODES:
            return _Command("web-fetch.fetch", json.dumps({**input, "mode": mode}))
        case _:
            return None


def _is_address(word: str) -> bool:
    """Whether a word can be meant as a host or a URL: `get started` is no command."""
    return word.lower() == "localhost" or any(mark in word for mark in ".:/")


def _answer(message: Message) -> str:
    return "\n\n".join(_told(part) for part in message.parts if isinstance(part, ToolResultPart))


def _told(part: ToolResultPart) -> str:
    """A tool's result for a person to read, with the line that helps on after a refusal."""
    text = unfenced(part.text) if part.untrusted else part.text
    if part.is_error:
        domain = (part.data or {}).get("domain")
        if part.code == "domain_not_allowed" and isinstance(domain, str):
            return f"{text}\nTo allow it, say: allow {domain}"
        return text
    try:
        output: Any = json.loads(content(part))
    except ValueError:
        return text
    if isinstance(output, Mapping):
        page: Any = output.get("content")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(page, str):
            return page
        if part.tool_id == "web-fetch.add-domain":
            return f"{output.get('domain')} can be fetched now."  # pyright: ignore[reportUnknownMemberType]
    return json.dumps(output, indent=2, ensure_ascii=False)


def _help(tools: set[str]) -> str:
    lines = ["No model is configured, so I only understand commands:"]
    if "web-fetch.fetch" in tools:
        lines += ["  fetch https://example.com as markdown    (or html, links)", "  allow example.com"]
    lines += ["  /call TOOL {JSON}", f"Tools: {', '.join(sorted(tools)) or 'none'}.", CONFIGURE]
    return "\n".join(lines)
