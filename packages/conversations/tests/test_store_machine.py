"""Whatever is done to sessions, in whatever order, the tables say what the store in memory says."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from glados.conversations import SqlSessionStore
from glados.conversations.plugin import ConversationsPlugin
from glados.core import MemorySessionStore
from glados.core.errors import GladosError
from glados.core.messages import Usage, user_message
from glados.core.sessions import Charge, Draft, Entry, RunStart, Session, SessionStore
from glados.database.testing import open_database

TEXTS = st.sampled_from(["cake", "Bake a CAKE", "東京は日本", "bread\0", "x y z", ""])
CHARGES = st.sampled_from(
    [(), (Charge("m", Usage(1, 2), 0.5),), (Charge("n", None, None), Charge("m", Usage(3), 0.25))]
)
PICK = st.integers(0, 50)


class Machine(RuleBasedStateMachine):
    """Does everything twice: to a database and to the model, in which sessions and entries have the same numbers."""

    @staticmethod
    def url() -> str:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.ids: list[tuple[str, str]] = []
        self.counter = itertools.count()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        async def opening() -> SqlSessionStore:
            database = await self.stack.enter_async_context(open_database(type(self).url(), ConversationsPlugin))
            return SqlSessionStore(database)

        self.stores: tuple[SessionStore, SessionStore] = (self.do(opening()), MemorySessionStore())

    def teardown(self) -> None:
        self.do(self.stack.aclose())
        self.runner.close()

    def both(self, work: Callable[[SessionStore, int], Coroutine[Any, Any, Any]]) -> list[Any]:
        """What both say; an error is said by both."""

        async def said(side: int) -> Any:
            try:
                return await work(self.stores[side], side)
            except GladosError as error:
                return error

        results = [self.do(said(side)) for side in (0, 1)]
        assert [type(result) for result in results] in ([type(results[1])] * 2, [list, tuple], [tuple, list])
        return results

    def add(self, sessions: list[Any]) -> None:
        if isinstance(sessions[0], Session):
            self.ids.append((sessions[0].id, sessions[1].id))

    def session(self, pick: int) -> tuple[str, str]:
        return self.ids[pick % len(self.ids)] if self.ids else ("gone", "gone")

    async def entry(self, store: SessionStore, session_id: str, pick: int) -> str | None:
        entries = await store.entries(session_id)
        return entries[pick % len(entries)].id if entries and pick < 45 else None if pick % 2 else "gone"

    @rule(pick=st.none() | PICK, title=TEXTS)
    def create(self, pick: int | None, title: str) -> None:
        parent = (None, None) if pick is None or not self.ids else self.session(pick)
        self.add(self.both(lambda store, side: store.create(title=title.replace("\0", ""), parent_id=parent[side])))

    @rule(pick=PICK, texts=st.lists(TEXTS, max_size=3), charges=CHARGES)
    def append(self, pick: int, texts: list[str], charges: tuple[Charge, ...]) -> None:
        session = self.session(pick)
        drafts = [Draft("message", user_message(text), charges=charges) for text in texts]
        self.both(lambda store, side: store.append(session[side], drafts))

    @rule(pick=PICK, entry=PICK)
    def compact(self, pick: int, entry: int) -> None:
        session = self.session(pick)

        async def compact(store: SessionStore, side: int) -> None:
            kept = await self.entry(store, session[side], entry)
            await store.append(session[side], [Draft("compaction", {"summary": "s", "first_kept_id": kept})])

        self.both(compact)

    @rule(pick=PICK, entry=PICK)
    def switch(self, pick: int, entry: int) -> None:
        session = self.session(pick)

        async def switch(store: SessionStore, side: int) -> None:
            await store.switch(session[side], await self.entry(store, session[side], entry))

        self.both(switch)

    @rule(pick=PICK, entry=st.none() | PICK)
    def fork(self, pick: int, entry: int | None) -> None:
        session = self.session(pick)

        async def fork(store: SessionStore, side: int) -> Session:
            at = None if entry is None else await self.entry(store, session[side], entry)
            return await store.fork(session[side], at=at)

        self.add(self.both(fork))

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        session = self.session(pick)
        self.both(lambda store, side: store.delete(session[side]))

    @rule(pick=PICK)
    def delete_and_restore(self, pick: int) -> None:
        session = self.session(pick)

        async def again(store: SessionStore, side: int) -> Session:
            before, entries = await store.get(session[side]), await store.entries(session[side])
            await store.delete(session[side])
            [restored] = await store.restore([(before, entries)])
            return restored

        self.both(again)

    @rule(pick=PICK, ends=st.booleans())
    def run(self, pick: int, ends: bool) -> None:
        session, run_id = self.session(pick), f"run-{next(self.counter)}"
        drafts = [Draft("run_end", {}, run_id)] if ends else []
        self.both(lambda store, side: store.append(session[side], drafts, opens=RunStart(run_id)))

    @rule(pick=PICK, tags=st.lists(TEXTS.map(lambda text: text.replace("\0", "")), max_size=2))
    def tag(self, pick: int, tags: list[str]) -> None:
        session = self.session(pick)
        self.both(lambda store, side: store.tag(session[side], tags))

    @rule(text=st.sampled_from(["cake", "日本", "x", "bread", "bake cake"]))
    def search(self, text: str) -> None:
        found = self.both(lambda store, side: store.search(text, limit=1000))
        places = [
            sorted((self.place(one.session_id, side), one.seq, one.snippet) for one in found[side]) for side in (0, 1)
        ]
        assert places[0] == places[1]

    def place(self, session_id: str | None, side: int) -> int | None:
        return next((number for number, ids in enumerate(self.ids) if ids[side] == session_id), None)

    @invariant()
    def both_hold_the_same(self) -> None:
        if not hasattr(self, "stores"):
            return
        seen = [self.do(self.seen(side)) for side in (0, 1)]
        assert seen[0] == seen[1]

    async def seen(self, side: int) -> list[Any]:
        """Everything that a store holds, with ids as the places where they first were."""
        store = self.stores[side]
        sessions = sorted(await store.list(limit=1000), key=lambda session: self.place(session.id, side) or 0)
        logs = {session.id: list(await store.entries(session.id)) for session in sessions}
        places: dict[str | None, Any] = {
            entry.id: (self.place(session.id, side), entry.seq) for session in sessions for entry in logs[session.id]
        }
        told: list[Any] = []
        for session in sessions:
            branch = [entry.seq for entry in await store.branch(session.id)]
            runs = [run.id for run in await store.open_runs(session.id)]
            told.append((self.plain(session, places, side), [plain_entry(entry, places) for entry in logs[session.id]]))
            told.append((branch, runs, await store.costs(session.id)))
            assert [entry.seq for entry in logs[session.id]] == list(range(1, session.seq + 1))
        return told

    def plain(self, session: Session, places: dict[str | None, Any], side: int) -> Any:
        parent, source = self.place(session.parent_id, side), self.place(session.forked_from, side)
        bare = replace(session, id="", created_at="", updated_at="", parent_id=None, forked_from=None, head=None)
        return bare, parent, source, places.get(session.head)


def plain_entry(entry: Entry, places: dict[str | None, Any]) -> Any:
    payload: Any = entry.payload
    kept = places.get(payload.get("first_kept_id")) if isinstance(payload, dict) else None
    payload = {**payload, "first_kept_id": kept} if isinstance(payload, dict) else payload
    origin = places.get(entry.origin_id, "gone" if entry.origin_id else None)
    bare = replace(entry, id="", session_id="", parent_id=None, created_at="", origin_id=None, payload={})
    return bare, payload, places.get(entry.parent_id), origin


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_tables_hold_what_the_store_in_memory_holds(kind: str, request: pytest.FixtureRequest) -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()
        databases: list[Any] = []

        def url() -> str:
            if kind == "sqlite":
                return f"sqlite:///{Path(folder, f'{next(numbers)}.sqlite3')}"
            database = request.getfixturevalue("postgresql_server").database()
            databases.append(database)
            return database.__enter__()

        machine = type("BoundMachine", (Machine,), {"url": staticmethod(url)})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=50, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
            ),
        )
        for database in databases:
            database.__exit__(None, None, None)
