"""An agent as one value: what it is told, who answers, which tools it has, how far it may go, what it may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from glados.core.limits import Limits
from glados.core.model import Thinking
from glados.core.rules import Rights
from glados.core.tools import Tool

READ_ON = "artifacts.read"
INSTRUCTIONS = (
    "You are glados, an assistant that works with tools. Use a tool when it gets you a fact or does the work; when a"
    " tool fails, read its error and do what it says. Answer in the language of the question."
)


@dataclass(frozen=True, slots=True)
class Agent:
    """The main agent, a sub-agent, a skill: each is one of these.

    `model` is a role (normal, high, small) or a name; `tools` are patterns of tool ids.
    """

    name: str = "main"
    instructions: str = INSTRUCTIONS
    model: str = "normal"
    thinking: Thinking | None = None
    tools: tuple[str, ...] = ("*",)
    limits: Limits = field(default_factory=Limits)
    rights: Rights = field(default_factory=Rights)

    def choose(self, tools: Sequence[Tool]) -> list[Tool]:
        """The tools that this agent has, in the given order."""
        chosen = [tool for tool in tools if any(fnmatchcase(tool.id, pattern) for pattern in self.tools)]
        # Whoever has a tool has to be able to read on where its result was cut.
        return [tool for tool in tools if tool.id == READ_ON or tool in chosen] if chosen else []
