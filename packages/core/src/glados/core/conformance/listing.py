"""Lists of sessions: pages, order, what is left out."""

from __future__ import annotations

from glados.core.sessions import Draft, SessionStore


class ListingTests:
    """Which sessions there are."""

    async def test_sessions_are_listed_the_newest_first_and_page_by_page(self, store: SessionStore) -> None:
        ids = [(await store.create()).id for _ in range(5)]
        first = await store.list(limit=3)
        rest = await store.list(limit=3, before=first[-1].id)
        assert [session.id for session in (*first, *rest)] == ids[::-1]
        assert await store.list(limit=0) == []
        assert await store.list(before=ids[0]) == []
        assert len(await store.list()) == 5

    async def test_sessions_can_be_listed_by_their_last_change(self, store: SessionStore) -> None:
        ids = [(await store.create()).id for _ in range(3)]
        await store.append(ids[0], [Draft("custom", {})])
        listed = await store.list(order="updated")
        assert sorted(session.updated_at for session in listed) == [session.updated_at for session in listed][::-1]
        pages = [await store.list(order="updated", limit=1)]
        while pages[-1]:
            pages.append(await store.list(order="updated", limit=1, before=pages[-1][-1].id))
        assert [session for page in pages for session in page] == listed

    async def test_what_agents_started_can_be_left_out(self, store: SessionStore) -> None:
        root = await store.create()
        child = await store.create(parent_id=root.id)
        other = await store.create(parent_id=root.id)
        below = await store.create(parent_id=child.id)
        assert [session.id for session in await store.list(roots=True)] == [root.id]
        assert [session.id for session in await store.children(root.id)] == [child.id, other.id]
        assert [session.id for session in await store.children(child.id)] == [below.id]
        assert await store.children(below.id) == []

    async def test_sessions_are_found_by_a_tag(self, store: SessionStore) -> None:
        one, two = await store.create(tags=("work", "a,b")), await store.create(tags=("workshop",))
        assert [session.id for session in await store.list(tag="work")] == [one.id]
        assert [session.id for session in await store.list(tag="a,b")] == [one.id]
        assert await store.list(tag="a") == []
        await store.tag(one.id, ("other",))
        await store.tag(two.id, ("work",))
        assert [session.id for session in await store.list(tag="work")] == [two.id]
        await store.delete(two.id)
        assert await store.list(tag="work") == []

    async def test_sessions_are_found_by_a_part_of_the_title(self, store: SessionStore) -> None:
        cake = await store.create(title="Große TORTE 100%")
        await store.create(title="100 x")
        await store.create()
        for part in ("torte", "GROßE", "e t", "100%", ""):
            assert cake.id in [session.id for session in await store.list(title=part)]
        for part in ("torten", "%torte", "t_rte", "!"):
            assert await store.list(title=part) == []
        assert [session.id for session in await store.list(title="100%")] == [cake.id]
        await store.rename(cake.id, "Bread")
        assert await store.list(title="torte") == []
        assert [session.id for session in await store.list(title="bREAD")] == [cake.id]

    async def test_filters_and_pages_go_together(self, store: SessionStore) -> None:
        ids = [(await store.create(title=f"Cake {n}", tags=("x",) if n % 2 else ())).id for n in range(6)]
        assert [s.id for s in await store.list(tag="x", title="cake", limit=2)] == [ids[5], ids[3]]
        assert [s.id for s in await store.list(tag="x", title="cake", limit=2, before=ids[4])] == [ids[3], ids[1]]
