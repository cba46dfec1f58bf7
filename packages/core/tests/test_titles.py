"""Titles of sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from glados.core import ModelDelta, ModelProvider, ModelRequest, Plugin, Services, SessionUpdated, hookimpl
from glados.core.models.errors import ModelUnavailable
from glados.core.testing import AppFactory, ScriptedModel, next_of
from glados.core.titles import MadeTitle, made_title, plain_title


@pytest.mark.parametrize(
    ("prompt", "title"),
    [("  Bake \n a  cake ", "Bake a cake"), ("x" * 100, "x" * 80), (" \n", None), ("half \ud800", "half �")],
)
def test_a_title_is_the_first_words_of_the_prompt(prompt: str, title: str | None) -> None:
    assert plain_title(prompt) == title


async def test_a_model_may_make_the_title() -> None:
    model = ScriptedModel(' "Baking a cake"\n')
    made = await made_title(model, "Please tell me how to bake a cake")

    assert made.text == "Baking a cake"
    assert model.requests[0].messages[-1].text == "Please tell me how to bake a cake"


async def test_a_model_that_fails_makes_no_title() -> None:
    assert await made_title(ScriptedModel(ModelUnavailable("down")), "Bake") == MadeTitle(None)


async def test_the_small_model_names_new_sessions_when_there_is_one(glados_app: AppFactory) -> None:
    small = ScriptedModel("Baking a cake")

    class Provider:
        def model(self, name: str) -> Any:
            return small if name == "small-one" else ScriptedModel("Take flour.") if name == "big-one" else None

    class Kitchen(Plugin):
        id = "kitchen"

        @hookimpl
        async def setup(self, services: Services) -> None:
            services.add(ModelProvider, Provider())

    settings = {"model": {"normal": "big-one", "small": "small-one"}}
    app = await glados_app(plugins=[Kitchen], model="configured", settings=settings)
    with app.bus.subscribe() as events:
        result = await app.run("How do I bake a cake?")
        renamed = await next_of(events, SessionUpdated)

    assert renamed.payload()["title"] == "Baking a cake"
    assert (await app.sessions.get(result.session_id)).title == "Baking a cake"


async def test_a_model_of_a_plugin_that_wants_to_exit_makes_no_title() -> None:
    class Exits(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
            raise SystemExit(3)
            yield

    assert await made_title(Exits(), "Bake") == MadeTitle(None)
