"""How a run ended: its answer, its steps, and what it has used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from glados.core.messages import Usage
from glados.core.tools import ToolResult


@dataclass(frozen=True, slots=True)
class Step:
    """A model call or a tool call of a run."""

    kind: str
    name: str
    call_id: str | None = None
    code: str | None = None
    usage: Usage | None = None

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON."""
        data: dict[str, Any] = {"kind": self.kind, "name": self.name}
        if self.kind == "tool":
            data.update(call_id=self.call_id, is_error=self.code is not None, code=self.code)
        if self.usage is not None:
            data["usage"] = self.usage.to_dict()
        return data


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far, its children's share included; a cost that is not known stays unknown."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0

    def plus(self, usage: Usage, cost: float | None, *, turns: int = 0) -> Spent:
        """One more model call, or the whole of a child."""
        total = None if self.cost is None or cost is None else self.cost + cost
        return Spent(self.turns + turns, self.usage + usage, total)


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended; `stop` is end, aborted, error, length, content_filter or the limit that was reached."""

    text: str
    session_id: str
    run_id: str
    usage: Usage
    steps: tuple[Step, ...]
    stop: str
    cost: float | None = None
    output: BaseModel | None = None
    tainted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The result as `/api/chat` answers it."""
        data: dict[str, Any] = {
            "session_id": self.session_id,
            "run_id": self.run_id,
            "response": self.text,
            "steps": [step.to_dict() for step in self.steps],
            "usage": self.usage.to_dict(),
            "cost": self.cost,
            "stop": self.stop,
        }
        if self.output is not None:
            data["output"] = self.output.model_dump(mode="json")
        return data


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the loop of a run is; replaced from turn to turn, never changed."""

    spent: Spent = field(default_factory=Spent)
    text: str = ""
    steps: tuple[Step, ...] = ()
    continued: int = 0
    reasked: int = 0
    output: BaseModel | None = None

    def answered(self, text: str, model: str, usage: Usage | None) -> Progress:
        """After a model call; the pieces of an answer that was cut short and continued are one text."""
        whole = self.text + text if self.continued else text or self.text
        return replace(self, text=whole, steps=(*self.steps, Step("model", model, usage=usage)))

    def result(self, session_id: str, run_id: str, stop: str, *, tainted: bool = False) -> RunResult:
        """How the run ends, when it ends here."""
        spent = self.spent
        return RunResult(self.text, session_id, run_id, spent.usage, self.steps, stop, spent.cost, self.output, tainted)

    def told(self, results: list[ToolResult]) -> Progress:
        """After tool calls."""
        steps = tuple(Step("tool", result.tool_id, result.call_id, result.code) for result in results)
        return replace(self, steps=self.steps + steps, continued=0)
