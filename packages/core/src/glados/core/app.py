"""The app: the composition root. It opens plugins, runs prompts, calls tools and stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

from pydantic import BaseModel

from glados.core import discovery, lines
from glados.core.artifacts import ArtifactsSettings, ArtifactStore
from glados.core.bus import EventBus
from glados.core.context import Context
from glados.core.discovery import PluginsSettings
from glados.core.errors import RequestError, SessionBusy, SessionIdle
from glados.core.events import Event, RunFinished, SessionCreated, SessionDeleted
from glados.core.home import GladosSettings
from glados.core.host import PluginHost
from glados.core.messages import well_formed
from glados.core.misspellings import warn_of_rules, warn_of_sections
from glados.core.model import Model, ModelProvider
from glados.core.models.choice import Models
from glados.core.models.settings import ModelSettings, OpenAISettings
from glados.core.own_services import own_services
from glados.core.permissions import OnQuestion, PermissionService, PermissionsSettings
from glados.core.pipeline import Pipeline, call_part
from glados.core.plugins import Plugin, PluginRecord, Prepare
from glados.core.restarts import Restarts
from glados.core.results import RunResult
from glados.core.runs import Run
from glados.core.scope import Scope
from glados.core.services import Services
from glados.core.session_actions import SessionActions
from glados.core.sessions import OpenRun, Session, SessionStore, new_id
from glados.core.settings import Layer, Settings
from glados.core.titles import Naming, plain_title
from glados.core.tools import Tool
from glados.core.work import RunOptions, Work, Workshop
from glados.core.workspaces import Workspace

SECTIONS: dict[str, type[BaseModel]] = {
    "glados": GladosSettings,
    "openai": OpenAISettings,
    "model": ModelSettings,
    "permissions": PermissionsSettings,
    "artifacts": ArtifactsSettings,
}
OnBusy = Literal["queue", "reject"]


class App(SessionActions):
    """Plugins, sessions and models, working together; made with `App.open`."""

    def __init__(
        self,
        settings: Settings,
        services: Services,
        host: PluginHost,
        models: Models,
        store: SessionStore,
        recovers: bool = False,
    ) -> None:
        self.settings = settings
        self.services = services
        self.sessions = store
        self.bus = services.get(EventBus)
        self.permissions = services.get(PermissionService)
        self._host = host
        self._models = models
        self._pipeline = Pipeline(services, self.permissions, host.tool_hooks)
        context = Context(services.get(GladosSettings).instructions)
        self._lines = lines.Lines(self._told)
        self._workshop = Workshop(host, models, store, self.bus, self._pipeline, context, self._lines)
        self._recovers = recovers
        self._restarts = Restarts(store, self.bus, models.settings.max_resumed, self._resume)
        self._closed = False
        self._naming = Naming(store, self.bus, models.settings.prices)

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
        recovers: bool = False,
    ) -> AsyncGenerator[App]:
        """Open an app on the installed plugins, or on those that are given; it is stopped when the block ends.

        One that `recovers` lets runs go on that a dead process has left, as its own do after it.
        """
        effective = Settings(layers, environ, settings)
        candidates = discovery.installed() if plugins is None else discovery.given(plugins)
        found = discovery.discover(candidates, effective, SECTIONS)
        options = effective.section("plugins", PluginsSettings).load()
        container = own_services(effective)
        if services is not None:
            services(container)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(container.close, options.timeout)
            host = PluginHost(found, container, options)
            stack.push_async_callback(host.stop)
            await host.start()
            warn_of_sections(effective, found)
            await container.get(PermissionService).rules()
            models = Models(effective, container.all(ModelProvider), given=model)
            stack.push_async_callback(models.close)
            models.resolve("normal")
            app = cls(effective, container, host, models, store or container.get(SessionStore), recovers)
            stack.push_async_callback(app._close)
            if rules := app.permissions.settings.rules():
                warn_of_rules(rules, await app.tools())
            if recovers:
                await app._restarts.recover()
            yield app

    @property
    def model_name(self) -> str:
        """What answers."""
        return self._models.resolve("normal").name

    @property
    def plugins(self) -> list[PluginRecord]:
        """Every plugin that was found, with its state."""
        return self._host.records

    def workspace(self, path: Path) -> Workspace:
        """A folder as a workspace; a person trusts it by naming it, or one above it, in GLADOS_TRUSTED_WORKSPACES."""
        folder = path.expanduser().resolve()
        trusted = self.services.get(GladosSettings).trusted_workspaces
        return Workspace(folder, any(folder.is_relative_to(other.expanduser().resolve()) for other in trusted))

    async def tools(self) -> list[Tool]:
        """Every tool, in the order in which a model sees them."""
        return (await self._host.prepare(Prepare("list"))).tools

    async def call(
        self, tool_id: str, input: Mapping[str, Any], *, on_question: OnQuestion = "deny", approve: bool = False
    ) -> dict[str, Any]:
        """Call one tool through the whole pipeline; `approve` answers its permission question with yes."""
        self._check_open()
        await self.permissions.rules()
        call = call_part(new_id(), tool_id, input)
        prepared = await self._host.prepare(Prepare("call"))
        tools = {tool.id: tool for tool in prepared.tools}
        return await self._pipeline.call_once(call, Scope(tools, on_question, self.bus.publish, approve=approve))

    async def run(
        self, prompt: str, *, session: str | None = None, on_busy: OnBusy = "queue", **options: Unpack[RunOptions]
    ) -> RunResult:
        """Work on a prompt and give the answer; cancelling the caller aborts the run."""
        opened = await self._session(session, prompt)
        task = self._start(opened, Work(prompt, **options), on_busy)
        return await lines.outcome(task, opened.id)

    async def stream(
        self, prompt: str, *, session: str | None = None, on_busy: OnBusy = "queue", **options: Unpack[RunOptions]
    ) -> AsyncIterator[Event]:
        """Work on a prompt and tell what happens, until its RunFinished; who stops listening does not stop the run."""
        opened = await self._session(session, prompt)
        with self.bus.subscribe(opened.id) as events:
            task = self._start(opened, Work(prompt, **options), on_busy)
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
            lines.result_of(task, opened.id)  # it ended without telling: that is an error of ours, and is raised

    def steer(self, session_id: str, text: str) -> None:
        """Say something to the run that works in a session, before its next model call."""
        self._working(session_id).steer(well_formed(text))

    def follow_up(self, session_id: str, text: str) -> None:
        """Say something to the run that works in a session when it would stop, and let it go on."""
        self._working(session_id).follow_up(well_formed(text))

    async def abort(self, session_id: str) -> bool:
        """Abort the run of a session, the next in line begins; says whether there was one."""
        await self.sessions.get(session_id)
        working = self._lines.tasks(session_id)[:1]
        await lines.abort(working)
        return bool(working)

    async def delete_session(self, session_id: str) -> None:
        """Abort what runs and what waits in a session, and delete it with those of the agents that it started."""
        await self.sessions.get(session_id)
        await lines.abort(self._lines.tasks(session_id))
        going = await self._tree(session_id)
        await lines.abort([task for id in going for task in self._lines.tasks(id)])
        await self.sessions.delete(session_id)
        for id in going:
            await self.permissions.forget_session(id)
            await self.services.get(ArtifactStore).forget_session(id)
            self.bus.publish(SessionDeleted(session_id=id))

    async def _tree(self, session_id: str) -> list[str]:
        """A session behind all below it."""
        below = [id for child in await self.sessions.children(session_id) for id in await self._tree(child.id)]
        return [*below, session_id]

    def _check_open(self) -> None:
        """Refuse work that would begin while plugins are stopped, or after that."""
        if self._closed:
            raise RequestError("The app is closed: open another one with App.open.")

    async def _close(self) -> None:
        """Take no more work, abort every run, and wait until each has closed its history."""
        self._closed = True
        self._naming.close()
        self._restarts.stop()
        await self._lines.abort_all()

    async def _session(self, session_id: str | None, prompt: str) -> Session:
        self._check_open()
        if not prompt.strip():
            raise RequestError("The prompt is empty: say what to do.")
        if session_id is not None:
            return await self.sessions.get(session_id)
        session = await self.create_session(plain_title(prompt))
        if self._models.settings.small is not None:
            self._naming.begin(self._models.resolve("small"), session.id, prompt)
        return session

    def _start(self, session: Session, work: Work, on_busy: OnBusy) -> asyncio.Task[RunResult]:
        """Put a run in its session's line; it begins when those before it have ended."""
        if on_busy == "reject" and self._lines.tasks(session.id):
            raise SessionBusy(
                f"Session {session.id!r} is working on another prompt: wait for it, or leave out on_busy to queue.",
                session_id=session.id,
            )
        run_id = new_id()
        work = replace(work, resumable=self._recovers and work.is_plain)

        async def begin() -> RunResult:
            await self._restarts.clear(session)
            run = await self._workshop.open(run_id, session, work)
            self._lines.works(session.id, run)
            return await run.execute(work.prompt)

        return self._lines.join(session.id, run_id, begin)

    def _resume(self, session: Session, left: OpenRun, why: str) -> None:
        """Let a run go on that a dead process has left; whoever wants to, answers its questions."""

        async def begin() -> RunResult:
            run = await self._workshop.open(left.id, session, Work("", on_question="wait"))
            self._lines.works(session.id, run)
            return await run.resume(why)

        self._lines.join(session.id, left.id, begin)

    def _working(self, session_id: str) -> Run:
        run = self._lines.working(session_id)
        if run is None or run.over:
            raise SessionIdle(f"Nothing runs in session {session_id!r}: send a prompt instead.", session_id=session_id)
        return run

    def _told(self, session_id: str, result: RunResult) -> None:
        """Tell the end of a run that was aborted before it began, and could not tell it itself."""
        self.bus.publish(RunFinished(session_id=session_id, run_id=result.run_id, result=result.to_dict()))
