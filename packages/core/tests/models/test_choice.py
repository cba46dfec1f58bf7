"""Which model answers for a role or a name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from glados.core.errors import InvalidSetting, PluginError
from glados.core.model import Model, ModelDelta, ModelProvider, ModelRequest
from glados.core.models.choice import Models
from glados.core.models.offline import OfflineModel
from glados.core.models.openai import OpenAIModel
from glados.core.prices import Price
from glados.core.settings import Settings
from tests.asking import told
from tests.model_server import ModelServer, Reply

URL = "http://127.0.0.1:1/v1"


@pytest.fixture
def api() -> str:
    return "auto"


class Parrot:
    """A model of a plugin."""

    def __init__(self, name: str, *, fails: bool = False) -> None:
        self.name = name
        self.fails = fails
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        raise NotImplementedError
        yield

    async def close(self) -> None:
        self.closed = True
        if self.fails:
            raise RuntimeError("it did not want to close")


class BrokenProvider:
    def model(self, name: str) -> Model | None:
        raise SystemExit(name)


class Parrots:
    """Answers to every name that begins with a letter."""

    def __init__(self, knows: str = "p", *, fails: bool = False) -> None:
        self.knows = knows
        self.fails = fails
        self.made: list[Parrot] = []

    def model(self, name: str) -> Parrot | None:
        if not name.startswith(self.knows):
            return None
        self.made.append(Parrot(name, fails=self.fails))
        return self.made[-1]


def models(*providers: ModelProvider, **environ: str) -> Models:
    return Models(Settings(environ=environ), providers)


def test_without_a_key_and_a_url_the_offline_model_answers_for_every_role() -> None:
    chosen = models(MODEL_NORMAL="gpt-5", MODEL_HIGH="gpt-5.5")

    assert {type(chosen.resolve(role)) for role in ("normal", "high", "small", "gpt-5")} == {OfflineModel}
    assert chosen.resolve("fallback") is None


def test_each_role_has_its_model() -> None:
    names = {"MODEL_NORMAL": "n", "MODEL_HIGH": "h", "MODEL_SMALL": "s", "MODEL_FALLBACK": "f"}
    chosen = models(OPENAI_BASE_URL=URL, **names)
    resolved = [chosen.resolve(role) for role in ("normal", "high", "small", "fallback", "other")]

    assert [model.name for model in resolved if model is not None] == ["n", "h", "s", "f", "other"]


def test_high_and_small_are_the_normal_model_where_nobody_named_them() -> None:
    chosen = models(OPENAI_BASE_URL=URL, MODEL_NORMAL="n")

    assert chosen.resolve("high") is chosen.resolve("small") is chosen.resolve("n") is chosen.resolve()
    assert chosen.resolve("fallback") is None


def test_the_first_model_of_a_service_is_one_model_for_all_roles() -> None:
    chosen = models(OPENAI_BASE_URL=URL)

    assert chosen.resolve("small") is chosen.resolve("normal")
    assert isinstance(chosen.resolve("normal"), OpenAIModel)


def test_the_model_of_a_plugin_comes_first_and_is_made_once() -> None:
    parrots = Parrots()
    chosen = models(parrots, OPENAI_BASE_URL=URL, MODEL_NORMAL="polly", MODEL_FALLBACK="pia", MODEL_SMALL="gpt-5-nano")

    assert chosen.resolve("normal") is chosen.resolve("high") is chosen.resolve("polly") is parrots.made[0]
    assert chosen.resolve("fallback") is parrots.made[1]
    assert isinstance(chosen.resolve("small"), OpenAIModel)


def test_the_first_provider_that_knows_a_name_brings_its_model() -> None:
    deaf, first, second = Parrots(knows="q"), Parrots(), Parrots()

    assert models(deaf, first, second, MODEL_NORMAL="polly").resolve("normal") is first.made[0]
    assert second.made == []


def test_without_a_name_no_plugin_is_asked() -> None:
    assert isinstance(models(BrokenProvider()).resolve("normal"), OfflineModel)


def test_a_provider_that_fails_is_named() -> None:
    with pytest.raises(PluginError, match=r"BrokenProvider called sys\.exit\('cake'\)"):
        models(BrokenProvider(), MODEL_NORMAL="cake").resolve("normal")


@pytest.mark.parametrize("environ", [{"OPENAI_API_KEY": "sk-1"}, {"OPENAI_BASE_URL": URL}], ids=str)
def test_a_key_or_a_url_is_enough_for_a_model_of_a_service(environ: dict[str, str]) -> None:
    model = models(MODEL_NORMAL="gpt-5", **environ).resolve("normal")

    assert isinstance(model, OpenAIModel)
    assert model.name == "gpt-5"


async def test_a_model_that_a_program_gives_is_every_role_and_is_closed() -> None:
    given = Parrot("mine")
    settings = Settings(environ={"OPENAI_BASE_URL": URL, "MODEL_HIGH": "h", "MODEL_FALLBACK": "f"})
    chosen = Models(settings, given=given)
    fallback = chosen.resolve("fallback")

    assert chosen.resolve("normal") is chosen.resolve("high") is chosen.resolve("small") is given
    assert fallback is not None
    assert fallback.name == "f"
    await chosen.close()
    assert given.closed


def test_the_api_is_the_one_of_the_settings() -> None:
    for api in ("chat", "responses"):
        model = models(OPENAI_API_KEY="sk-1", MODEL_NORMAL="n", MODEL_API=api).resolve("normal")
        assert isinstance(model, OpenAIModel)
        assert model.api == api


async def test_all_models_share_one_connection_and_closing_closes_it() -> None:
    async with ModelServer([Reply(text="a"), Reply(text="b"), Reply(text="c")]) as server:
        chosen = models(OPENAI_BASE_URL=server.url, MODEL_NORMAL="n", MODEL_SMALL="s")
        await told(chosen.resolve("normal"))
        await told(chosen.resolve("small"))
        assert server.connections == 1
        await chosen.close()
        await told(chosen.resolve("normal"))
        assert server.connections == 2
        await chosen.close()


async def test_a_model_that_fails_to_close_keeps_no_other_open() -> None:
    parrots = Parrots(fails=True)
    chosen = models(parrots)
    for name in ("polly", "pia"):
        chosen.resolve(name)
    with pytest.raises(RuntimeError):
        await chosen.close()

    assert [parrot.closed for parrot in parrots.made] == [True, True]


def test_prices_and_thinking_come_from_the_settings() -> None:
    prices = '{"mine": {"input": 1.0, "cached": 0.1, "output": 3.0}, "free": {"input": 0, "output": 0}}'
    settings = models(MODEL_PRICES=prices, MODEL_THINKING="low").settings

    assert settings.thinking == "low"
    assert settings.prices["mine"] == Price(input=1.0, cached=0.1, output=3.0)
    assert settings.prices["free"].cached is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MODEL_API", "soap"),
        ("MODEL_THINKING", "hard"),
        ("MODEL_PRICES", "cheap"),
        ("MODEL_PRICES", '{"mine": 1}'),
        ("MODEL_PRICES", '{"mine": {"input": -1, "output": 1}}'),
        ("MODEL_PRICES", '{"mine": {"input": 1, "output": 1, "per": "call"}}'),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(InvalidSetting, match=name):
        models(**{name: value})
