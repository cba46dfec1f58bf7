"""What a run works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from glados.core.agents import Agent, Rights
from glados.core.bus import EventBus
from glados.core.memory import Window
from glados.core.messages import ImagePart
from glados.core.model import Model, Thinking
from glados.core.permissions import OnQuestion
from glados.core.pipeline import Pipeline
from glados.core.prices import Price
from glados.core.recovery import Patience
from glados.core.results import RunResult
from glados.core.sessions import Session, SessionStore
from glados.core.tools import Tool
from glados.core.workspaces import Workspace

if TYPE_CHECKING:
    from glados.core.child_ids import ChildId
    from glados.core.runs import Run
    from glados.core.scope import ScopedHost


@dataclass(frozen=True, slots=True)
class RunContext:
    """Everything that stays the same from a run's first turn to its last."""

    session: Session
    agent: Agent
    model: Model
    system: str
    tools: Sequence[Tool]
    store: SessionStore
    bus: EventBus
    pipeline: Pipeline
    on_question: OnQuestion
    window: Window
    fallback: Model | None = None
    thinking: Thinking | None = None
    images: tuple[ImagePart, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    output: type[BaseModel] | None = None
    workspace: Workspace | None = None
    rights: tuple[Rights, ...] = ()
    depth: int = 0
    tainted: bool = False  # whether untrusted content stands behind the prompt
    patience: Callable[[], Patience] = Patience
    resumable: bool = False  # whether it goes on after a crash
    run_child: Callable[[Run, Agent, str, ScopedHost, ChildId], Awaitable[RunResult]] | None = None

    def fixed_chars(self) -> int:
        """The size of what every prompt of the run begins with."""
        return len(self.system) + sum(len(tool.description) + len(str(tool.input_schema)) for tool in self.tools)
