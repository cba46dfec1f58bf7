from __future__ import annotations

from typing import Any

import pytest

from glados.core import Agent, Limits, Spent, Tool, tool


def made(id: str) -> Tool:
    async def work() -> int:
        """Work."""
        return 1

    return tool(id)(work)


TOOLS = [made(id) for id in ("web-fetch.fetch", "dice.roll", "web-fetch.add-domain")]


@pytest.mark.parametrize(
    ("patterns", "ids"),
    [
        (("*",), ["web-fetch.fetch", "dice.roll", "web-fetch.add-domain"]),
        (("web-fetch.*",), ["web-fetch.fetch", "web-fetch.add-domain"]),
        (("dice.roll", "web-fetch.fetch"), ["web-fetch.fetch", "dice.roll"]),
        (("dice",), []),
        ((), []),
    ],
)
def test_an_agent_chooses_its_tools_and_keeps_their_order(patterns: tuple[str, ...], ids: list[str]) -> None:
    assert [chosen.id for chosen in Agent(tools=patterns).choose(TOOLS)] == ids


def test_an_agent_is_a_value() -> None:
    assert Agent() == Agent()
    assert hash(Agent(name="research")) == hash(Agent(name="research"))


@pytest.mark.parametrize(("turns", "reached"), [(0, None), (1, None), (2, "max_turns"), (3, "max_turns")])
def test_limits_name_the_bound_that_is_reached(turns: int, reached: Any) -> None:
    assert Limits(turns=2).reached(Spent(turns=turns)) == reached
