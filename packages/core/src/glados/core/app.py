"""The app: the composition root. It opens plugins, runs prompts, calls tools and stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from glados.core import discovery
from glados.core.agents import Agent
from glados.core.discovery import PluginsSettings
from glados.core.errors import ConfigurationError, SessionBusy
from glados.core.events import Event, EventBus, RunFinished, SessionCreated, SessionDeleted
from glados.core.host import PluginHost
from glados.core.limits import Limits
from glados.core.messages import Usage, well_formed
from glados.core.model import Model, ModelProvider
from glados.core.models.choice import choose_model
from glados.core.models.settings import ModelSettings, OpenAISettings
from glados.core.permissions import OnQuestion, PermissionService, PermissionsSettings
from glados.core.pipeline import Pipeline, call_part
from glados.core.plugins import Plugin, PluginRecord, Prepare
from glados.core.runs import Run, RunContext, RunResult
from glados.core.scope import Scope
from glados.core.services import Services
from glados.core.sessions import MemorySessionStore, Session, SessionStore, new_id
from glados.core.settings import GladosSettings, Layer, Settings
from glados.core.tools import Tool

SECTIONS: dict[str, type[BaseModel]] = {
    "glados": GladosSettings,
    "openai": OpenAISettings,
    "model": ModelSettings,
    "permissions": PermissionsSettings,
}
OnBusy = Literal["queue", "reject"]
ABORT_TIMEOUT = 10.0  # seconds that runs get to close their history when the app stops
TITLE_LENGTH = 80


@dataclass(slots=True)
class _Line:
    """The runs of one session: the first one works, the others wait for their turn."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    runs: list[asyncio.Task[RunResult]] = field(default_factory=list[asyncio.Task[RunResult]])


class App:
    """Plugins, sessions and a model, working together; made with `App.open`."""

    def __init__(
        self, settings: Settings, services: Services, host: PluginHost, model: Model, store: SessionStore
    ) -> None:
        self.settings = settings
        self.services = services
        self.sessions = store
        self.bus = services.get(EventBus)
        self.permissions = services.get(PermissionService)
        self._host = host
        self._model = model
        self._pipeline = Pipeline(services, self.permissions)
        limits = Limits(turns=settings.section("model", ModelSettings).load().max_turns)
        self._agent = Agent(limits=limits)
        self._lines: dict[str, _Line] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        plugins: Sequence[type[Plugin[Any]]] | None = None,
        model: Model | None = None,
        layers: Sequence[Layer] = (),
        environ: Mapping[str, str] | None = None,
        store: SessionStore | None = None,
        services: Callable[[Services], None] | None = None,
    ) -> AsyncGenerator[App]:
        """Open an app on the installed plugins, or on those that are given; it is stopped when the block ends."""
        effective = Settings(layers, environ, settings)
        candidates = discovery.installed() if plugins is None else discovery.given(plugins)
        found = discovery.discover(candidates, effective, SECTIONS)
        options = effective.section("plugins", PluginsSettings).load()
        container = _container(effective)
        if services is not None:
            services(container)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(container.close, options.timeout)
            host = PluginHost(found, container, options)
            stack.push_async_callback(host.stop)
            await host.start()
            chosen = model or choose_model(effective, container.all(ModelProvider))
            stack.push_async_callback(chosen.close)
            app = cls(effective, container, host, chosen, store or MemorySessionStore())
            stack.push_async_callback(app._stop_runs)
            yield app

    @property
    def model_name(self) -> str:
        """What answers."""
        return self._model.name

    @property
    def plugins(self) -> list[PluginRecord]:
        """Every plugin that was found, with its state."""
        return self._host.records

    async def tools(self) -> list[Tool]:
        """Every tool, in the order in which a model sees them."""
        return (await self._host.prepare(Prepare("list"))).tools

    async def call(
        self, tool_id: str, input: Mapping[str, Any], *, on_question: OnQuestion = "deny", approve: bool = False
    ) -> dict[str, Any]:
        """Call one tool through the whole pipeline; `approve` answers the default question with yes."""
        call = call_part(new_id(), tool_id, input)
        prepared = await self._host.prepare(Prepare("call"))
        tools = {tool.id: tool for tool in prepared.tools}
        return await self._pipeline.call_once(call, Scope(tools, on_question, self.bus.publish, approve=approve))

    async def run(
        self,
        prompt: str,
        *,
        session: str | None = None,
        agent: Agent | None = None,
        on_question: OnQuestion = "deny",
        on_busy: OnBusy = "queue",
    ) -> RunResult:
        """Work on a prompt and give the answer; cancelling the caller aborts the run."""
        opened = await self._session(session, prompt)
        task = self._start(prompt, opened, agent, on_question, on_busy)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            await _abort([task])
            raise
        return _result(task, opened.id)

    async def stream(
        self,
        prompt: str,
        *,
        session: str | None = None,
        agent: Agent | None = None,
        on_question: OnQuestion = "deny",
        on_busy: OnBusy = "queue",
    ) -> AsyncIterator[Event]:
        """Work on a prompt and tell what happens, until its RunFinished; who stops listening does not stop the run."""
        opened = await self._session(session, prompt)
        with self.bus.subscribe(opened.id) as events:
            task = self._start(prompt, opened, agent, on_question, on_busy)
            task.add_done_callback(lambda _: events.close())
            mine = task.get_name()
            if session is None:
                yield SessionCreated(session_id=opened.id, session=opened.to_dict())
            async for event in events:
                if event.run_id != mine:
                    continue
                yield event
                if isinstance(event, RunFinished):
                    return
            _result(task, opened.id)  # it ended without telling: that is an error of ours, and is raised

    async def create_session(self, title: str | None = None) -> Session:
        """Begin a session."""
        session = await self.sessions.create(title=title)
        self.bus.publish(SessionCreated(session_id=session.id, session=session.to_dict()))
        return session

    async def delete_session(self, session_id: str) -> None:
        """Abort what runs and what waits in a session, and delete it."""
        await self.sessions.get(session_id)
        await _abort(self._runs(session_id))
        await self.sessions.delete(session_id)
        self.permissions.forget_session(session_id)
        self.bus.publish(SessionDeleted(session_id=session_id))

    async def abort(self, session_id: str) -> bool:
        """Abort the run of a session, the next in line begins; says whether there was one."""
        await self.sessions.get(session_id)
        working = self._runs(session_id)[:1]
        await _abort(working)
        return bool(working)

    async def _session(self, session_id: str | None, prompt: str) -> Session:
        if session_id is not None:
            return await self.sessions.get(session_id)
        title = " ".join(well_formed(prompt).split())[:TITLE_LENGTH] or None
        return await self.create_session(title)

    def _start(
        self, prompt: str, session: Session, agent: Agent | None, on_question: OnQuestion, on_busy: OnBusy
    ) -> asyncio.Task[RunResult]:
        """Begin a run in a task of its own, named by the run's id."""
        if on_busy == "reject" and self._runs(session.id):
            raise SessionBusy(
                f"Session {session.id!r} is working on another prompt: wait for it, or leave out on_busy to queue.",
                session_id=session.id,
            )
        run_id, line = new_id(), self._lines.setdefault(session.id, _Line())
        work = self._work(run_id, session, prompt, agent or self._agent, on_question, line.lock)
        task = asyncio.create_task(work, name=run_id)
        line.runs.append(task)
        task.add_done_callback(lambda task: self._ended(session.id, task))
        return task

    def _runs(self, session_id: str) -> list[asyncio.Task[RunResult]]:
        """The runs of a session that have not ended, the one that works first."""
        line = self._lines.get(session_id)
        return [task for task in line.runs if not task.done()] if line is not None else []

    def _ended(self, session_id: str, task: asyncio.Task[RunResult]) -> None:
        line = self._lines[session_id]
        line.runs.remove(task)
        if not line.runs:
            del self._lines[session_id]
        if task.cancelled():
            result = _result(task, session_id)
            self.bus.publish(RunFinished(session_id=session_id, run_id=result.run_id, result=result.to_dict()))
        else:
            task.exception()  # looked at, so that one for which nobody waits is not reported as lost

    async def _work(
        self, run_id: str, session: Session, prompt: str, agent: Agent, on_question: OnQuestion, lock: asyncio.Lock
    ) -> RunResult:
        async with lock:
            prepared = await self._host.prepare(Prepare("run", session))
            context = RunContext(
                session=session,
                agent=agent,
                model=self._model,
                system="\n\n".join((agent.instructions, *prepared.context)),
                tools=agent.choose(prepared.tools),
                store=self.sessions,
                bus=self.bus,
                pipeline=self._pipeline,
                on_question=on_question,
            )
            return await Run(run_id, context).execute(prompt)

    async def _stop_runs(self) -> None:
        """Abort every run, and wait until each has closed its history."""
        await _abort([task for line in self._lines.values() for task in line.runs])


async def _abort(tasks: Sequence[asyncio.Task[RunResult]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=ABORT_TIMEOUT)


def _result(task: asyncio.Task[RunResult], session_id: str) -> RunResult:
    """How a run ended; one that ends cancelled was aborted before it began, and has written nothing down."""
    if task.cancelled():
        return RunResult("", session_id, task.get_name(), Usage(), (), "aborted")
    return task.result()


def _container(settings: Settings) -> Services:
    """The services that core itself provides."""
    own = settings.section("glados", GladosSettings).load()
    rights = settings.section("permissions", PermissionsSettings).load()
    try:
        own.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"The data directory {str(own.data_dir)!r} cannot be made ({error.strerror}): set GLADOS_DATA_DIR."
        ) from None
    services = Services()
    services.provide(GladosSettings, lambda: own)
    services.provide(Settings, lambda: settings)
    services.provide(EventBus, EventBus)
    services.provide(PermissionService, lambda: PermissionService(rights))
    return services
