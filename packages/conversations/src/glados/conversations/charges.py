"""What model calls cost, added up in the same transaction as the entry that they belong to: once, whatever happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glados.conversations.rows import storable
from glados.core.messages import Usage
from glados.core.sessions import Charge, ModelCost
from glados.database import Connection

# A session and all above it.
_UP = (
    "WITH RECURSIVE up (number, parent_id) AS ("
    "SELECT number, parent_id FROM conversations_sessions WHERE number = ?"
    " UNION SELECT s.number, s.parent_id FROM conversations_sessions s JOIN up ON s.id = up.parent_id)"
)
_SUMS = (
    "input_tokens = {0}input_tokens + ?, output_tokens = {0}output_tokens + ?,"
    " cached_tokens = {0}cached_tokens + ?, reasoning_tokens = {0}reasoning_tokens + ?,"
    " cost = {0}cost + ?, unknown_costs = {0}unknown_costs + ?"
)
_ADD = f"{_UP} UPDATE conversations_sessions SET {_SUMS.format('')} WHERE number IN (SELECT number FROM up)"
_ADD_TO_MODEL = (
    f"{_UP} INSERT INTO conversations_costs"
    " (session, model, calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost, unknown_costs)"
    " SELECT number, ?, 1, ?, ?, ?, ?, ?, ? FROM up WHERE true"
    f" ON CONFLICT (session, model) DO UPDATE SET calls = conversations_costs.calls + 1,"
    f" {_SUMS.format('conversations_costs.')}"
)
_COSTS = (
    "SELECT c.model, c.calls, c.input_tokens, c.output_tokens, c.cached_tokens, c.reasoning_tokens, c.cost,"
    " c.unknown_costs FROM conversations_costs c WHERE c.session = ?"
)


def add_charges(connection: Connection, session: int, charges: Sequence[Charge]) -> None:
    """Count model calls in a session and in all above it."""
    for charge in charges:
        amounts = _amounts(charge)
        connection.execute(_ADD, (session, *amounts))
        connection.execute(_ADD_TO_MODEL, (session, storable(charge.model), *amounts, *amounts))


def costs_of(connection: Connection, session: int) -> list[ModelCost]:
    """The sums of a session, in the order of the models' names."""
    rows = connection.execute(_COSTS, (session,)).fetchall()
    costs = [ModelCost(row[0], row[1], Usage(*row[2:6]), None if row[7] else row[6]) for row in rows]
    return sorted(costs, key=lambda cost: cost.model)  # here, because databases order names each in its own way


def _amounts(charge: Charge) -> tuple[Any, ...]:
    usage = charge.usage or Usage()
    known, unknown = (0.0, 1) if charge.cost is None else (charge.cost, 0)
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        known,
        unknown,
    )
