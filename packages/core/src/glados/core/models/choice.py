"""Which model answers: one that a plugin brings, one behind a URL or a key, or the offline one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from glados.core import foreign
from glados.core.model import Model, ModelProvider
from glados.core.models.offline import OfflineModel
from glados.core.models.openai import OpenAIModel
from glados.core.models.settings import ModelSettings, OpenAISettings
from glados.core.settings import Settings

PROVIDER_TIMEOUT = 10.0  # seconds in which a plugin says whether a model is one of its own


def choose_model(settings: Settings, providers: Sequence[ModelProvider]) -> Model:
    """The model that the settings name."""
    name = settings.section("model", ModelSettings).load().normal
    for provider in providers if name is not None else ():
        what = f"The model provider {type(provider).__name__}"
        model = foreign.load(what, partial(provider.model, name or ""), PROVIDER_TIMEOUT)
        if model is not None:
            return model
    where = settings.section("openai", OpenAISettings).load()
    if where.api_key is None and where.base_url is None:
        return OfflineModel()
    key = where.api_key.get_secret_value() if where.api_key is not None else None
    return OpenAIModel(name, api_key=key, base_url=where.base_url)
