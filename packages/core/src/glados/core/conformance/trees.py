"""Branches, forks, compactions in them, and sessions that come back."""

from __future__ import annotations

from dataclasses import replace

from glados.core.conformance.refusals import refused
from glados.core.errors import EntryNotFound, InvalidInput, SessionExists
from glados.core.messages import Usage, user_message
from glados.core.sessions import Charge, Draft, Entry, SessionStore


async def say(store: SessionStore, session_id: str, *texts: str) -> list[Entry]:
    """Append messages."""
    return list(await store.append(session_id, [Draft("message", user_message(text)) for text in texts]))


class TreeTests:
    """The tree in a log."""

    async def test_the_next_entry_follows_the_one_that_was_switched_to(self, store: SessionStore) -> None:
        session = await store.create()
        a, b, c = await say(store, session.id, "a", "b", "c")
        switched = await store.switch(session.id, a.id)
        assert (switched.head, switched.seq) == (a.id, 3)
        assert list(await store.branch(session.id)) == [a]
        [d] = await say(store, session.id, "d")
        assert (d.seq, d.parent_id) == (4, a.id)
        assert list(await store.branch(session.id)) == [a, d]
        assert list(await store.entries(session.id)) == [a, b, c, d]
        await store.switch(session.id, c.id)
        assert list(await store.branch(session.id)) == [a, b, c]

    async def test_a_session_can_begin_anew(self, store: SessionStore) -> None:
        session = await store.create()
        await say(store, session.id, "a", "b")
        assert (await store.switch(session.id, None)).head is None
        assert list(await store.branch(session.id)) == []
        [c] = await say(store, session.id, "c")
        assert (c.seq, c.parent_id, list(await store.branch(session.id))) == (3, None, [c])

    async def test_an_entry_that_is_not_there_is_named(self, store: SessionStore) -> None:
        session, other = await store.create(), await store.create()
        [elsewhere] = await say(store, other.id, "a")
        for gone in ("gone", "", "a\0", "\ud800", elsewhere.id):
            for asking in (store.switch(session.id, gone), store.fork(session.id, at=gone)):
                caught = await refused(asking, EntryNotFound)
                assert caught.data == {"session_id": session.id, "entry_id": gone}

    async def test_a_fork_is_a_copy_that_is_numbered_anew(self, store: SessionStore) -> None:
        old = await store.create(title="Old", tags=("x",))
        a, _, _ = await say(store, old.id, "a", "b", "c")
        await store.switch(old.id, a.id)
        [d] = await store.append(old.id, [Draft("message", user_message("d"), "run", "ann")])
        fork = await store.fork(old.id)
        one, two = entries = list(await store.entries(fork.id))
        assert (fork.title, fork.tags, fork.forked_from, fork.parent_id) == ("Old", ("x",), old.id, None)
        assert (fork.seq, fork.head, fork) == (2, two.id, await store.get(fork.id))
        assert list(await store.branch(fork.id)) == entries
        assert [entry.seq for entry in entries] == [1, 2]
        assert [entry.parent_id for entry in entries] == [None, one.id]
        assert [entry.origin_id for entry in entries] == [a.id, d.id]
        assert {entry.session_id for entry in entries} == {fork.id}
        assert {one.id, two.id}.isdisjoint({a.id, d.id})
        assert two == replace(d, id=two.id, session_id=fork.id, seq=2, parent_id=one.id, origin_id=d.id)

    async def test_a_fork_stands_alone(self, store: SessionStore) -> None:
        old = await store.create()
        a, b = await say(store, old.id, "a", "b")
        fork = await store.fork(old.id, at=a.id, title="New")
        await say(store, fork.id, "c")
        assert (fork.title, list(await store.entries(old.id))) == ("New", [a, b])
        await store.delete(old.id)
        copied = await store.entries(fork.id)
        assert [entry.seq for entry in copied] == [1, 2]
        again = await store.fork(fork.id)
        assert (await store.entries(again.id))[0].origin_id == a.id  # what it was first copied from
        assert [session.id for session in await store.children(old.id)] == []

    async def test_an_empty_session_can_be_forked(self, store: SessionStore) -> None:
        fork = await store.fork((await store.create()).id)
        assert (fork.seq, fork.head, list(await store.entries(fork.id))) == (0, None, [])

    async def test_a_copied_compaction_names_the_copy_of_what_it_kept(self, store: SessionStore) -> None:
        old = await store.create()
        _, b = await say(store, old.id, "a", "b")
        payload = {"summary": "s", "first_kept_id": b.id}
        await store.append(old.id, [Draft("compaction", payload), Draft("compaction", {"first_kept_id": "gone"})])
        fork = await store.fork(old.id)
        _, kept, compaction, strange = await store.entries(fork.id)
        assert compaction.payload == {"summary": "s", "first_kept_id": kept.id}
        assert strange.payload == {"first_kept_id": "gone"}

    async def test_copying_costs_nothing(self, store: SessionStore) -> None:
        old = await store.create()
        charge = Charge("m", Usage(1, 1), 0.5)
        await store.append(old.id, [Draft("message", user_message("a"), charges=(charge,))])
        fork = await store.fork(old.id)
        assert (fork.usage, fork.cost, await store.costs(fork.id)) == (Usage(), 0.0, [])
        assert [entry.charges for entry in await store.entries(fork.id)] == [()]

    async def test_a_session_comes_back_as_it_was(self, store: SessionStore) -> None:
        root = await store.create(title="Root")
        child = await store.create(title="Old", parent_id=root.id, tags=("x", "y"))
        a, b = await say(store, child.id, "a", "b")
        await store.switch(child.id, a.id)
        charge = Charge("m", Usage(1, 2, 3, 4), 0.25)
        await store.append(child.id, [Draft("custom", {"x": "\0"}, "run", "ann", charges=(charge, charge))])
        before, entries = replace(await store.get(child.id), tainted=True), list(await store.entries(child.id))
        costs = await store.costs(child.id)
        await refused(store.restore([(before, entries)]), SessionExists)
        await store.delete(child.id)
        charged = await store.get(root.id)
        assert await store.restore([(before, entries)]) == [before] == [await store.get(child.id)]
        assert (list(await store.entries(child.id)), await store.costs(child.id)) == (entries, costs)
        assert [entry.id for entry in await store.branch(child.id)] == [a.id, entries[-1].id]
        assert (await store.get(root.id)).usage == charged.usage + Usage(2, 4, 6, 8)
        [c] = await say(store, child.id, "c")
        assert (c.seq, c.parent_id, b.seq) == (4, entries[-1].id, 2)

    async def test_sessions_come_back_together_or_not_at_all(self, store: SessionStore) -> None:
        root, other = await store.create(), await store.create()
        charge = Charge("m", Usage(1, 2), 0.5)
        child = await store.create(parent_id=root.id)
        [entry] = await store.append(child.id, [Draft("custom", {}, charges=(charge,))])
        before = [(await store.get(root.id), list[Entry]()), (await store.get(child.id), [entry])]
        await store.delete(root.id)
        for last, error in (
            ((other, list[Entry]()), SessionExists),
            (before[0], SessionExists),
            ((replace(other, id="new", seq=1), list[Entry]()), InvalidInput),
        ):
            await refused(store.restore([*before, last]), error)
            assert await store.list() == [other]
        restored = await store.restore(before)
        assert restored == [session for session, _ in before]
        assert [session.parent_id for session in restored] == [None, root.id]

    async def test_a_session_whose_parent_is_gone_comes_back_alone(self, store: SessionStore) -> None:
        root = await store.create()
        child = await store.create(parent_id=root.id)
        await store.delete(root.id)
        [restored] = await store.restore([(child, [])])
        assert restored == replace(child, parent_id=None) == await store.get(child.id)

    async def test_a_log_that_no_store_wrote_is_refused(self, store: SessionStore) -> None:
        session = await store.create()
        a, b = await say(store, session.id, "a", "b")
        whole = await store.get(session.id)
        await store.delete(session.id)
        for wrong, entries in (
            (whole, [a]),
            (whole, [b, a]),
            (whole, [a, replace(b, seq=3)]),
            (whole, [a, replace(b, parent_id="gone")]),
            (whole, [a, replace(b, id=a.id)]),
            (replace(whole, head="gone"), [a, b]),
            (replace(whole, seq=3), [a, b]),
        ):
            await refused(store.restore([(wrong, entries)]), InvalidInput)
        assert await store.list() == []
