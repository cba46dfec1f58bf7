"""The log: numbers, order, all or nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from glados.core.conformance.refusals import refused
from glados.core.errors import SessionExists, SessionNotFound
from glados.core.messages import user_message
from glados.core.sessions import Draft, SessionStore, session_not_found


class LogTests:
    """Sessions and their entries."""

    async def test_a_session_begins_empty(self, store: SessionStore) -> None:
        session = await store.create(title="Cake", tags=("a", "b", "a"))
        assert session == await store.get(session.id)
        assert (session.title, session.tags, session.parent_id) == ("Cake", ("a", "b"), None)
        assert (session.seq, session.head, session.cost, session.tainted) == (0, None, 0.0, False)
        assert (session.principal, session.forked_from) == ("local", None)
        assert datetime.fromisoformat(session.created_at).tzinfo == UTC
        assert (await store.create()).title is None
        assert list(await store.entries(session.id)) == list(await store.branch(session.id)) == []

    async def test_an_id_is_given_once(self, store: SessionStore) -> None:
        session = await store.create(id="mine")
        assert session.id == "mine"
        assert (await refused(store.create(id="mine"), SessionExists)).data == {"session_id": "mine"}

    async def test_entries_are_numbered_from_one_and_each_follows_the_one_before(self, store: SessionStore) -> None:
        session = await store.create()
        first = await store.append(session.id, [Draft("message", user_message("a"), "r1", "ann"), Draft("custom", {})])
        second = await store.append(session.id, [Draft("message", user_message("b"), "r2", id="given")])
        entries = [*first, *second]
        now = await store.get(session.id)
        assert list(await store.entries(session.id)) == list(await store.branch(session.id)) == entries
        assert [entry.seq for entry in entries] == [1, 2, 3]
        assert [entry.parent_id for entry in entries] == [None, entries[0].id, entries[1].id]
        assert {entry.session_id for entry in entries} == {session.id}
        assert [entry.run_id for entry in entries] == ["r1", None, "r2"]
        assert [entry.principal for entry in entries] == ["ann", "local", "local"]
        assert [entry.origin_id for entry in entries] == [None] * 3
        assert len({entry.id for entry in entries}) == 3
        assert (now.seq, now.head, entries[2].id) == (3, "given", "given")
        assert now.updated_at >= session.updated_at
        assert session.seq == 0  # what was given is a value

    async def test_sessions_are_numbered_each_on_its_own(self, store: SessionStore) -> None:
        first, second = await store.create(), await store.create()
        await store.append(first.id, [Draft("custom", {})] * 2)
        [entry] = await store.append(second.id, [Draft("custom", {})])
        assert (entry.seq, entry.session_id) == (1, second.id)

    async def test_many_who_append_at_once_leave_no_gap(self, store: SessionStore) -> None:
        session = await store.create()
        added = await asyncio.gather(*(store.append(session.id, [Draft("custom", {"n": n})] * 2) for n in range(50)))
        entries = await store.entries(session.id)
        assert [entry.seq for entry in entries] == list(range(1, 101))
        assert [entry.parent_id for entry in entries[1:]] == [entry.id for entry in entries[:-1]]
        assert all(second.seq == first.seq + 1 for first, second in added)
        assert {entry.id: entry for entry in entries} == {entry.id: entry for pair in added for entry in pair}

    async def test_an_append_is_all_or_nothing(self, store: SessionStore) -> None:
        session = await store.create()
        [kept] = await store.append(session.id, [Draft("custom", {})])
        unstorable = {"value": object()}
        try:
            await store.append(session.id, [Draft("custom", {}), Draft("custom", unstorable)])
        except Exception:
            assert list(await store.entries(session.id)) == [kept]
            assert (await store.get(session.id)).seq == 1
        else:
            assert len(await store.entries(session.id)) == 3

    async def test_nothing_can_be_appended(self, store: SessionStore) -> None:
        session = await store.create()
        assert list(await store.append(session.id, [])) == []
        assert (await store.get(session.id)).seq == 0

    async def test_entries_can_be_read_from_behind_a_number(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [Draft("custom", {})] * 3)
        for after, limit, seqs in (
            (0, None, [1, 2, 3]),
            (1, None, [2, 3]),
            (1, 1, [2]),
            (3, None, []),
            (9, 5, []),
            (-2, 2, [1, 2]),
            (0, 0, []),
            (2, 10**12, [3]),
        ):
            assert [entry.seq for entry in await store.entries(session.id, after=after, limit=limit)] == seqs

    async def test_what_was_read_does_not_change(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [Draft("custom", {})])
        entries, branch = await store.entries(session.id), await store.branch(session.id)
        await store.append(session.id, [Draft("custom", {})])
        assert (len(entries), len(branch)) == (1, 1)

    async def test_an_unknown_session_is_named_by_everything(self, store: SessionStore) -> None:
        for gone in ("gone", "", "a\0b", "\ud800", "x" * 5000):
            for asking in (
                store.get(gone),
                store.create(parent_id=gone),
                store.list(before=gone),
                store.append(gone, [Draft("custom", {})]),
                store.append(gone, []),
                store.entries(gone),
                store.branch(gone),
                store.rename(gone, "x"),
                store.tag(gone, ()),
                store.switch(gone, None),
                store.fork(gone),
                store.delete(gone),
                store.search("x", session_id=gone),
                store.costs(gone),
                store.open_runs(gone),
            ):
                caught = await refused(asking, SessionNotFound)
                assert (caught.message, caught.data) == (session_not_found(gone).message, {"session_id": gone})

    async def test_a_title_and_tags_can_be_changed(self, store: SessionStore) -> None:
        session = await store.create(title="Before", tags=("old",))
        renamed = await store.rename(session.id, "Bäckerei 🍰 'q\" %")
        tagged = await store.tag(session.id, ("new", "other", "new"))
        assert renamed.title == tagged.title == "Bäckerei 🍰 'q\" %"
        assert (renamed.tags, tagged.tags) == (("old",), ("new", "other"))
        assert tagged == await store.get(session.id)
        assert (await store.tag(session.id, ())).tags == ()

    async def test_a_title_that_no_database_could_hold_does_no_harm(self, store: SessionStore) -> None:
        session = await store.create(title="a\0b", tags=("x\0",))
        assert session == await store.get(session.id)
        assert (await store.rename(session.id, "\ud800")) == await store.get(session.id)
        assert [found.id for found in await store.list()] == [session.id]

    async def test_a_deleted_session_is_gone_with_all_below_it(self, store: SessionStore) -> None:
        root, other = await store.create(), await store.create()
        child = await store.create(parent_id=root.id)
        grandchild = await store.create(parent_id=child.id)
        for session in (root, other, child, grandchild):
            await store.append(session.id, [Draft("message", user_message("hello"))])
        await store.delete(root.id)
        assert [session.id for session in await store.list()] == [other.id]
        for session in (root, child, grandchild):
            await refused(store.get(session.id), SessionNotFound)
            await refused(store.entries(session.id), SessionNotFound)
        assert len(await store.entries(other.id)) == 1
        again = await store.create(id=root.id)
        assert (again.seq, list(await store.entries(root.id))) == (0, [])
