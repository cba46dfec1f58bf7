"""The plugin, called as an agent, the command line and HTTP would call it, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
from typing import Any

import pytest
from glados.core import Answer, App, InvalidInput, InvalidSetting, PermissionDenied, Question, ToolResultPart
from glados.core.testing import AppFactory, ScriptedModel, call
from glados.database import DatabasePlugin

from glados_dice import DicePlugin


async def dice(glados_app: AppFactory, database_url: str, model: ScriptedModel | None = None, **settings: Any) -> App:
    return await glados_app(
        plugins=[DatabasePlugin, DicePlugin],
        settings={"database": {"url": database_url}, "dice": settings},
        model=model,
    )


async def test_dice_have_six_sides_by_default(glados_app: AppFactory, database_url: str) -> None:
    app = await dice(glados_app, database_url)
    output = await app.call("dice.roll", {"count": 100}, approve=True)
    assert len(output["rolls"]) == 100
    assert set(output["rolls"]) <= {1, 2, 3, 4, 5, 6}


async def test_history_shows_the_newest_roll_first(glados_app: AppFactory, database_url: str) -> None:
    app = await dice(glados_app, database_url, sides=1000)
    first = await app.call("dice.roll", {"count": 2}, approve=True)
    second = await app.call("dice.roll", {"count": 2}, approve=True)
    output = await app.call("dice.history", {"limit": 3})
    assert [past["result"] for past in output["results"]] == [*second["rolls"], first["rolls"][0]]
    assert {past["sides"] for past in output["results"]} == {1000}


async def test_rolls_outlive_the_app(glados_app: AppFactory, database_url: str) -> None:
    before = await dice(glados_app, database_url, sides=20)
    rolled = await before.call("dice.roll", {}, approve=True)
    after = await dice(glados_app, database_url)
    assert [past["result"] for past in (await after.call("dice.history", {}))["results"]] == rolled["rolls"]


async def test_an_agent_asks_before_it_rolls_and_then_sees_the_roll(glados_app: AppFactory, database_url: str) -> None:
    model = ScriptedModel([call("dice.roll", count=1), call("dice.history")], "Done.")
    app = await dice(glados_app, database_url, model)
    asked: list[str] = []

    def yes(question: Question) -> Answer:
        asked.append(question.tool_id)
        return "once"

    result = await app.run("Roll a die and show me the history.", on_question=yes)
    assert result.text == "Done."
    assert asked == ["dice.roll"]
    assert "Dice have 6 sides" in model.requests[0].system
    parts = [part for message in model.requests[1].messages for part in message.parts]
    rolled, history = [json.loads(part.text) for part in parts if isinstance(part, ToolResultPart)]
    assert [past["result"] for past in history["results"]] == rolled["rolls"]


async def test_a_roll_that_nobody_allowed_is_not_made(glados_app: AppFactory, database_url: str) -> None:
    app = await dice(glados_app, database_url)
    with pytest.raises(PermissionDenied, match=r"dice\.roll changes something"):
        await app.call("dice.roll", {})
    assert await app.call("dice.history", {}) == {"results": []}


@pytest.mark.parametrize("count", [0, 101, "many"])
async def test_a_count_out_of_bounds_is_refused(glados_app: AppFactory, database_url: str, count: object) -> None:
    app = await dice(glados_app, database_url)
    with pytest.raises(InvalidInput, match="count"):
        await app.call("dice.roll", {"count": count}, approve=True)


@pytest.mark.parametrize("sides", ["1", "1001", "six"])
async def test_a_wrong_setting_is_named(glados_app: AppFactory, sides: str) -> None:
    with pytest.raises(InvalidSetting, match=f"DICE_SIDES is '{sides}'"):
        await glados_app(plugins=[DatabasePlugin, DicePlugin], environ={"DICE_SIDES": sides})
