from __future__ import annotations

import pytest

from glados.core import Model, ModelProvider, PluginError, Settings
from glados.core.models.choice import choose_model
from glados.core.models.offline import OfflineModel
from glados.core.models.openai import OpenAIModel
from glados.core.testing import ScriptedModel


class Provider:
    """Brings one model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.brought = ScriptedModel()

    def model(self, name: str) -> Model | None:
        return self.brought if name == self.name else None


class BrokenProvider:
    def model(self, name: str) -> Model | None:
        raise SystemExit(name)


def choose(*providers: ModelProvider, **environ: str) -> Model:
    return choose_model(Settings(environ=environ), providers)


def test_without_key_and_url_the_offline_model_answers() -> None:
    assert isinstance(choose(), OfflineModel)
    assert isinstance(choose(MODEL_NORMAL="gpt-5"), OfflineModel)


@pytest.mark.parametrize("environ", [{"OPENAI_API_KEY": "sk-1"}, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}], ids=str)
async def test_a_key_or_a_url_is_enough_for_a_model_of_a_service(environ: dict[str, str]) -> None:
    model = choose(MODEL_NORMAL="gpt-5", **environ)
    await model.close()

    assert isinstance(model, OpenAIModel)
    assert "gpt-5" in model.name


def test_a_model_that_a_plugin_brings_comes_before_a_service() -> None:
    first, second = Provider("cake"), Provider("pie")

    assert choose(first, second, MODEL_NORMAL="pie", OPENAI_API_KEY="sk-1") is second.brought
    assert choose(first, second, MODEL_NORMAL="pie") is second.brought


async def test_a_name_that_no_plugin_knows_goes_to_the_service() -> None:
    model = choose(Provider("cake"), MODEL_NORMAL="gpt-5", OPENAI_API_KEY="sk-1")
    await model.close()

    assert isinstance(model, OpenAIModel)


def test_without_a_name_no_plugin_is_asked() -> None:
    assert isinstance(choose(BrokenProvider()), OfflineModel)


def test_a_provider_that_fails_is_named() -> None:
    with pytest.raises(PluginError, match=r"BrokenProvider called sys\.exit\('cake'\)"):
        choose(BrokenProvider(), MODEL_NORMAL="cake")
