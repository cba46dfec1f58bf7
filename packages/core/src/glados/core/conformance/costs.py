"""What model calls cost, here and above."""

from __future__ import annotations

import asyncio

from glados.core.messages import Usage
from glados.core.sessions import Charge, Draft, ModelCost, SessionStore


def spent(*charges: Charge) -> list[Draft]:
    """An entry with charges."""
    return [Draft("custom", {}, charges=charges)]


class CostTests:
    """Sums of tokens and prices; those of these tests are exact in binary."""

    async def test_charges_add_up_by_model_in_the_order_of_names(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, spent(Charge("b", Usage(1, 2, 3, 4), 0.5), Charge("a", Usage(10), 0.25)))
        await store.append(session.id, spent(Charge("b", Usage(1, 1, 1, 1), 0.125)) * 2)
        now = await store.get(session.id)
        assert (now.usage, now.cost) == (Usage(13, 4, 5, 6), 1.0)
        assert await store.costs(session.id) == [
            ModelCost("a", 1, Usage(10), 0.25),
            ModelCost("b", 3, Usage(3, 4, 5, 6), 0.75),
        ]

    async def test_charges_count_in_every_session_above(self, store: SessionStore) -> None:
        root = await store.create()
        child = await store.create(parent_id=root.id)
        grandchild = await store.create(parent_id=child.id)
        beside = await store.create(parent_id=root.id)
        await store.append(grandchild.id, spent(Charge("m", Usage(1, 1), 0.5)))
        await store.append(beside.id, spent(Charge("n", Usage(2, 2), 0.25)))
        await store.append(child.id, spent(Charge("m", Usage(4, 4), 1.0)))
        sums = [(now.usage, now.cost) for now in [await store.get(s.id) for s in (root, child, grandchild, beside)]]
        assert sums == [(Usage(7, 7), 1.75), (Usage(5, 5), 1.5), (Usage(1, 1), 0.5), (Usage(2, 2), 0.25)]
        assert await store.costs(root.id) == [ModelCost("m", 2, Usage(5, 5), 1.5), ModelCost("n", 1, Usage(2, 2), 0.25)]
        assert (await store.get(root.id)).seq == 0

    async def test_a_price_that_is_not_known_makes_the_sum_unknown(self, store: SessionStore) -> None:
        root = await store.create()
        child = await store.create(parent_id=root.id)
        await store.append(root.id, spent(Charge("m", Usage(1), 0.5)))
        await store.append(child.id, spent(Charge("n", None, None), Charge("n", Usage(3), 0.5)))
        now = await store.get(root.id)
        assert (now.usage, now.cost) == (Usage(4), None)
        assert await store.costs(root.id) == [ModelCost("m", 1, Usage(1), 0.5), ModelCost("n", 2, Usage(3), None)]

    async def test_nothing_was_spent_in_a_new_session(self, store: SessionStore) -> None:
        session = await store.create()
        await store.append(session.id, [Draft("custom", {})])
        assert (await store.costs(session.id), (await store.get(session.id)).cost) == ([], 0.0)

    async def test_many_children_at_once_lose_no_charge(self, store: SessionStore) -> None:
        root = await store.create()
        children = [await store.create(parent_id=root.id) for _ in range(10)]
        charges = spent(Charge("m", Usage(1), 0.5))
        await asyncio.gather(*(store.append(child.id, charges) for child in children for _ in range(5)))
        assert await store.costs(root.id) == [ModelCost("m", 50, Usage(50), 25.0)]

    async def test_what_a_deleted_child_cost_was_spent(self, store: SessionStore) -> None:
        root = await store.create()
        child = await store.create(parent_id=root.id)
        await store.append(child.id, spent(Charge("m", Usage(1), 0.5)))
        await store.delete(child.id)
        assert ((await store.get(root.id)).cost, len(await store.costs(root.id))) == (0.5, 1)
