"""Any order of calls, ends, answers, denials and aborts: the promises of the executor and of permission hold."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from glados.core import (
    PermissionService,
    PermissionsSettings,
    QuestionAnswered,
    Services,
    ToolCallPart,
    ToolContext,
    ToolError,
    ToolResult,
    tool,
)
from glados.core.executor import Executor
from glados.core.pipeline import Pipeline
from glados.core.questions import Answer
from glados.core.scope import Scope

T = TypeVar("T")


@dataclass
class Bench:
    """What the tool does: each call ends when it is told to, and says what ran beside it."""

    running: dict[str, tuple[bool, asyncio.Future[None]]] = field(default_factory=dict[str, Any])
    ran: list[str] = field(default_factory=list[str])
    overlaps: list[tuple[str, list[str]]] = field(default_factory=list[Any])

    async def work(self, call_id: str, concurrent: bool) -> None:
        beside = [id for id, (together, _) in self.running.items() if not (together and concurrent)]
        if beside:
            self.overlaps.append((call_id, beside))
        self.ran.append(call_id)
        self.running[call_id] = (concurrent, asyncio.get_running_loop().create_future())
        try:
            await self.running[call_id][1]
        finally:
            del self.running[call_id]


@tool(
    "toys.work",
    read_only=lambda input: input.reads,
    concurrent=lambda input: input.concurrent,
    open_world=False,
)
async def work(reads: bool, concurrent: bool, thing: int, ctx: ToolContext) -> int:
    """Work on a thing until told to stop."""
    await ctx.services.get(Bench).work(ctx.call_id, concurrent)
    return thing


class Machine(RuleBasedStateMachine):
    """One answer of a model with any calls, and a person who may say anything at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.bench = Bench()
        services = Services()
        services.provide(Bench, lambda: self.bench)
        self.permissions = PermissionService(
            PermissionsSettings(deny=["toys.work(thing=0)"], ask=["toys.work(thing=1)"])
        )
        self.pipeline = Pipeline(services, self.permissions)
        self.tainted = False
        self.scope = Scope({work.id: work}, "wait", lambda _event: None, session_id="s", tainted=lambda: self.tainted)
        self.executor = Executor(lambda checked: self.pipeline.run(checked, self.scope))
        self.calls: list[str] = []
        self.forbidden: set[str] = set()
        self.refused: list[tuple[bool, bool, int]] = []
        self.inputs: dict[str, tuple[bool, bool, int]] = {}
        self.told: list[ToolResult] = []
        self.reading = self.executor.results()
        self.answered: list[str] = []
        self.released = False
        self.aborts = False

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def settle(self) -> None:
        """Let everything go on that can."""
        for _ in range(20):
            await asyncio.sleep(0)

    @initialize(aborts=st.booleans())
    def choose_the_end(self, aborts: bool) -> None:
        self.aborts = aborts

    @rule(reads=st.booleans(), concurrent=st.booleans(), thing=st.integers(0, 2))
    def add(self, reads: bool, concurrent: bool, thing: int) -> None:
        id = f"c{len(self.calls)}"
        arguments = f'{{"reads": {str(reads).lower()}, "concurrent": {str(concurrent).lower()}, "thing": {thing}}}'
        self.calls.append(id)
        self.inputs[id] = (reads, concurrent, thing)
        if thing == 0 or self.inputs[id] in self.refused:
            self.forbidden.add(id)

        async def put() -> None:
            self.executor.add(self.pipeline.check(ToolCallPart(id, work.id, arguments), self.scope.tools))
            await self.settle()

        self.do(put())

    @precondition(lambda self: self.refused)
    @rule(which=st.integers(0))
    def add_what_was_refused(self, which: int) -> None:
        self.add(*self.refused[which % len(self.refused)])

    @rule(arguments=st.sampled_from(["{}", "nonsense", '{"thing": "x"}']))
    def add_one_that_does_not_fit(self, arguments: str) -> None:
        self.calls.append(id := f"c{len(self.calls)}")
        self.forbidden.add(id)

        async def put() -> None:
            self.executor.add(self.pipeline.check(ToolCallPart(id, work.id, arguments), self.scope.tools))
            await self.settle()

        self.do(put())

    @precondition(lambda self: not self.released)
    @rule()
    def release(self) -> None:
        self.released = True

        async def let_go() -> None:
            self.executor.release()
            await self.settle()

        self.do(let_go())

    @rule()
    def read_something_untrusted(self) -> None:
        self.tainted = True

    @precondition(lambda self: self.bench.running)
    @rule(which=st.integers(0), fails=st.booleans())
    def end(self, which: int, fails: bool) -> None:
        _, future = list(self.bench.running.values())[which % len(self.bench.running)]

        async def finish() -> None:
            if fails:
                future.set_exception(ToolError("It broke."))
            else:
                future.set_result(None)
            await self.settle()

        self.do(finish())

    @precondition(lambda self: self.permissions.pending())
    @rule(which=st.integers(0), answer=st.sampled_from(["once", "session", "always", "deny"]))
    def answer(self, which: int, answer: Answer) -> None:
        pending = self.permissions.pending()
        question = pending[which % len(pending)]

        async def say() -> None:
            self.permissions.answer(question.id, answer)
            await self.settle()

        if answer == "deny":
            self.forbidden.add(question.call_id)
            self.refused.append(self.inputs[question.call_id])
        self.answered.append(question.id)
        self.do(say())

    @precondition(lambda self: self.answered)
    @rule(which=st.integers(0), answer=st.sampled_from(["once", "deny"]))
    def answer_late(self, which: int, answer: Answer) -> None:
        with pytest.raises(QuestionAnswered):
            self.permissions.answer(self.answered[which % len(self.answered)], answer)

    @precondition(lambda self: self.released)
    @rule()
    def read_results(self) -> None:
        """Take what is there, as a run does; what is not there yet is waited for later."""

        async def read() -> list[ToolResult]:
            group = asyncio.ensure_future(anext(self.reading, None))
            await self.settle()
            if not group.done():
                group.cancel()
                await asyncio.wait({group})
            elif found := group.result():
                return found
            self.reading = self.executor.results()  # it has ended, or was cut off: from the beginning
            del self.told[:]
            return []

        self.told.extend(self.do(read()))

    @invariant()
    def results_are_told_in_order(self) -> None:
        assert [result.call_id for result in self.told] == self.calls[: len(self.told)]

    @invariant()
    def what_runs_alone_runs_alone(self) -> None:
        assert self.bench.overlaps == []

    @invariant()
    def nothing_runs_twice_or_in_spite_of_a_no(self) -> None:
        assert len(set(self.bench.ran)) == len(self.bench.ran)
        assert self.forbidden.isdisjoint(self.bench.ran)
        assert self.forbidden.isdisjoint(question.call_id for question in self.permissions.pending())

    @invariant()
    def nothing_changes_before_the_release(self) -> None:
        if not self.released:
            assert all(self.inputs[id][0] for id in self.bench.ran)

    def teardown(self) -> None:
        try:
            if self.aborts:
                self.abort()
            else:
                self.bring_to_an_end()
            left = asyncio.all_tasks(self.loop)
            assert left == set()
        finally:
            self.do(self.loop.shutdown_asyncgens())
            self.loop.close()

    def abort(self) -> None:
        """Stop everything where it is; then each call has its one result."""
        results = self.do(self.executor.abort())

        assert [result.call_id for result in results] == self.calls
        assert self.bench.running == {}
        assert self.permissions.pending() == []

    def bring_to_an_end(self) -> None:
        """Let every call end and every question be refused; then each call has its one result."""

        async def finish() -> list[ToolResult]:
            self.executor.release()
            await self.settle()
            while self.bench.running or self.permissions.pending():
                for question in self.permissions.pending():
                    self.permissions.answer(question.id, "deny")
                for _, future in list(self.bench.running.values()):
                    future.set_result(None)
                await self.settle()
            return [result async for group in self.executor.results() for result in group]

        assert [result.call_id for result in self.do(finish())] == self.calls


TestExecutorAndPermissions = pytest.mark.filterwarnings("error")(Machine.TestCase)
TestExecutorAndPermissions.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
