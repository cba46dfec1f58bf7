"""Runs that are open: one a session, until their end is written down."""

from __future__ import annotations

import asyncio

from glados.core.conformance.refusals import refused
from glados.core.errors import SessionBusy, SessionNotFound
from glados.core.messages import user_message
from glados.core.sessions import Draft, OpenRun, RunStart, SessionStore


class RunTests:
    """What a store knows of runs; that others are dead can only be tested with processes."""

    async def test_a_run_is_open_until_its_end_is_written_down(self, store: SessionStore) -> None:
        session, other = await store.create(), await store.create()
        prompt = Draft("message", user_message("go"), "r1")
        await store.append(session.id, [prompt], opens=RunStart("r1", resumable=True))
        await store.append(other.id, [], opens=RunStart("r2"))
        first = OpenRun("r1", session.id, resumable=True, resumed=0, alive=True, mine=True)
        second = OpenRun("r2", other.id, resumable=False, resumed=0, alive=True, mine=True)
        assert await store.open_runs() == [first, second]
        assert await store.open_runs(session.id) == [first]
        await store.append(session.id, [Draft("run_end", {"stop": "end"}, "r1")])
        assert await store.open_runs() == [second]
        assert await store.open_runs(session.id) == []

    async def test_a_second_run_is_refused_and_leaves_nothing(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [Draft("custom", {}, "r1")], opens=RunStart("r1"))
        second = store.append(session.id, [Draft("custom", {}, "r2")], opens=RunStart("r2"))
        assert (await refused(second, SessionBusy)).data == {"session_id": session.id}
        assert len(await store.entries(session.id)) == (await store.get(session.id)).seq == 1
        assert [run.id for run in await store.open_runs()] == ["r1"]
        await store.append(session.id, [Draft("run_end", {}, "r1")])
        await store.append(session.id, [Draft("custom", {}, "r2")], opens=RunStart("r2"))
        assert [run.id for run in await store.open_runs()] == ["r2"]

    async def test_of_many_who_begin_at_once_one_does(self, store: SessionStore) -> None:
        session = await store.create()

        async def begin(n: int) -> bool:
            try:
                await store.append(session.id, [Draft("custom", {}, f"r{n}")], opens=RunStart(f"r{n}"))
            except SessionBusy:
                return False
            return True

        assert sum(await asyncio.gather(*map(begin, range(10)))) == 1
        assert (await store.get(session.id)).seq == 1

    async def test_the_end_of_another_run_closes_nothing(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [], opens=RunStart("r1"))
        await store.append(session.id, [Draft("run_end", {}, "r2"), Draft("run_end", {})])
        assert [run.id for run in await store.open_runs()] == ["r1"]

    async def test_a_run_may_begin_and_end_in_one_step(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [Draft("run_end", {}, "r1")], opens=RunStart("r1"))
        assert await store.open_runs() == []

    async def test_whoever_does_not_open_a_run_is_not_refused(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [], opens=RunStart("r1"))
        await store.append(session.id, [Draft("custom", {}), Draft("custom", {}, "r2")])
        assert (await store.get(session.id)).seq == 2

    async def test_a_run_that_lives_cannot_be_taken_over(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [], opens=RunStart("r1"))
        assert [await store.adopt("r1"), await store.adopt("gone"), await store.adopt("\0")] == [False] * 3
        assert [run.resumed for run in await store.open_runs()] == [0]

    async def test_deleting_a_session_ends_its_run(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [], opens=RunStart("r1"))
        await store.delete(session.id)
        assert await store.open_runs() == []
        await refused(store.append(session.id, [Draft("custom", {}, "r1")]), SessionNotFound)

    async def test_the_head_stays_where_it_is_while_a_run_is_open(self, store: SessionStore) -> None:
        session = await store.create()
        [prompt] = await store.append(session.id, [Draft("custom", {}, "r1")], opens=RunStart("r1"))
        await refused(store.switch(session.id, None), SessionBusy)
        assert (await store.get(session.id)).head == prompt.id
        await store.append(session.id, [Draft("run_end", {}, "r1")])
        assert (await store.switch(session.id, prompt.id)).head == prompt.id

    async def test_a_copy_and_what_comes_back_have_no_open_run(self, store: SessionStore) -> None:
        session = await store.create()
        entries = await store.append(session.id, [Draft("custom", {}, "r1")], opens=RunStart("r1"))
        await store.fork(session.id)
        assert len(await store.open_runs()) == 1
        before = await store.get(session.id)
        await store.delete(session.id)
        await store.restore([(before, entries)])
        assert await store.open_runs() == []
