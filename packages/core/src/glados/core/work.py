"""From a prompt to a run: the agent, its tools, its context and its model, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from pydantic import BaseModel

from glados.core import lines, structured
from glados.core.agents import Agent, Rights
from glados.core.bus import EventBus
from glados.core.child_ids import ChildId
from glados.core.context import Context
from glados.core.errors import SessionExists, ToolError
from glados.core.host import PluginHost
from glados.core.limits import Limits
from glados.core.memory import Window
from glados.core.messages import ImagePart
from glados.core.model import Thinking
from glados.core.models.choice import Models
from glados.core.permissions import OnQuestion
from glados.core.pipeline import Pipeline
from glados.core.plugins import Prepare
from glados.core.recovery import Patience
from glados.core.results import RunResult
from glados.core.run_context import RunContext
from glados.core.runs import Run
from glados.core.scope import ScopedHost
from glados.core.sessions import Session, SessionStore, new_id
from glados.core.workspaces import Workspace

if TYPE_CHECKING:
    from glados.core.tools import Tool


class RunOptions(TypedDict, total=False):
    """What can be said of a run besides its prompt.

    `agent` works instead of the main one, `output` is the form of the answer, `thinking` how much the model thinks,
    `images` belong to the prompt, `workspace` is the folder that it is about, `on_question` answers questions.
    """

    agent: Agent | None
    output: type[BaseModel] | None
    thinking: Thinking | None
    images: Sequence[ImagePart]
    workspace: Workspace | None
    on_question: OnQuestion


@dataclass(frozen=True, slots=True)
class Work:
    """What a run is asked for; without an agent it is the main one's."""

    prompt: str
    agent: Agent | None = None
    output: type[BaseModel] | None = None
    thinking: Thinking | None = None
    images: Sequence[ImagePart] = ()
    workspace: Workspace | None = None
    on_question: OnQuestion = "deny"
    tainted: bool = False  # whether untrusted content stands behind the prompt
    resumable: bool = False  # whether the run goes on after a crash

    @property
    def is_plain(self) -> bool:
        """Whether the session's own entries say all of it, so that another process can go on with it."""
        return self.agent is None and self.output is None and self.thinking is None and self.workspace is None


class Workshop:
    """Puts runs together, those of the main agent and those of its children."""

    def __init__(
        self,
        host: PluginHost,
        models: Models,
        store: SessionStore,
        bus: EventBus,
        pipeline: Pipeline,
        context: Context,
        line_up: lines.Lines,
    ) -> None:
        self._context = context
        self._lines = line_up
        self._host = host
        self._models = models
        self._store = store
        self._bus = bus
        self._pipeline = pipeline
        options = models.settings
        self._main = Agent(
            thinking=options.thinking,
            limits=Limits(
                turns=options.max_turns,
                input_tokens=options.max_input_tokens,
                output_tokens=options.max_output_tokens,
                cost=options.max_cost,
                seconds=options.max_seconds,
            ),
        )

    async def open(self, run_id: str, session: Session, work: Work) -> Run:
        """A run of the main agent or of the one that is named."""
        agent = work.agent or self._main
        await self._pipeline.permissions.rules(session.id)
        prepared = await self._host.prepare(Prepare("run", session))
        return self._run(run_id, session, agent, work, prepared.tools, prepared.items, (agent.rights,))

    async def run_child(self, parent: Run, agent: Agent, prompt: str, caller: ScopedHost, id: ChildId) -> RunResult:
        """A child run in a child session: its limits lie inside what its parent has left, its rights too."""
        options, depth = self._models.settings, parent.context.depth + 1
        if depth > options.max_depth:
            raise ToolError(f"Agents may call agents {options.max_depth} deep at most (MODEL_MAX_DEPTH).")
        if parent.root.children >= options.max_children:
            raise ToolError(f"A run may have {options.max_children} children at most (MODEL_MAX_CHILDREN).")
        parent.root.children += 1
        limits = agent.limits.within(parent.context.agent.limits, parent.progress.spent, parent.seconds())
        child = replace(agent, limits=limits)
        session = await self._child_session(parent, f"{agent.name}: {prompt[:60]}", id)
        await self._pipeline.permissions.rules(session.id)
        prepared = await self._host.prepare(Prepare("run", session))
        known = {tool.id for tool in parent.context.tools}
        tools = [tool for tool in prepared.tools if tool.id in known]
        inherited = parent.context
        work = Work(
            prompt,
            child,
            workspace=inherited.workspace,
            on_question=inherited.on_question,
            tainted=caller.tainted(),
        )
        refused = self._pipeline.permissions.ceiling(parent.session_id)
        rights = (*parent.context.rights, refused, agent.rights)
        run = self._run(new_id(), session, child, work, tools, prepared.items, rights, parent)
        task = self._lines.join(session.id, run.id, lambda: run.execute(prompt))
        self._lines.works(session.id, run)
        try:
            return await lines.outcome(task, session.id)
        finally:
            if run.tainted:
                caller.mark_untrusted()  # what it read stands in its answer, or in its error
            await self._pipeline.permissions.hand_up(session.id, parent.session_id)

    async def _child_session(self, parent: Run, title: str, id: ChildId) -> Session:
        """A session of its own for each child; a call that is made again after a crash has had some already."""
        while True:
            try:
                return await self._store.create(title=title, parent_id=parent.session_id, id=str(id))
            except SessionExists:
                id = id.next()

    def _run(
        self,
        run_id: str,
        session: Session,
        agent: Agent,
        work: Work,
        tools: Sequence[Tool],
        items: Sequence[tuple[str, str]],
        rights: tuple[Rights, ...],
        parent: Run | None = None,
    ) -> Run:
        options = self._models.settings
        return Run(
            run_id,
            RunContext(
                session=session,
                agent=agent,
                model=self._models.resolve(agent.model) or self._models.resolve("normal"),
                fallback=self._models.resolve("fallback"),
                system=self._context.system(agent.instructions, [*items, *_form(work)], work.workspace),
                tools=agent.choose(tools),
                store=self._store,
                bus=self._bus,
                pipeline=self._pipeline,
                on_question=work.on_question,
                window=Window(options.context_tokens, options.compact_at, self._models.resolve("small")),
                thinking=work.thinking or agent.thinking or options.thinking,
                images=tuple(work.images),
                prices=options.prices,
                output=work.output,
                workspace=work.workspace,
                rights=rights,
                depth=parent.context.depth + 1 if parent is not None else 0,
                tainted=work.tainted,
                patience=lambda: Patience(options.tries, options.first_pause),
                resumable=work.resumable,
                run_child=self.run_child,
            ),
            parent,
        )


def _form(work: Work) -> list[tuple[str, str]]:
    """What the model is told of the form that its answer must have."""
    return [("glados", structured.instructions(work.output))] if work.output is not None else []
