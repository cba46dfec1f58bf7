"""Which model answers: one that a plugin brings, one behind a URL or a key, or the offline one."""

from __future__ import annotations

from collections.abc import Sequence

from glados.core.model import Model, ModelProvider
from glados.core.models.offline import OfflineModel
from glados.core.models.openai import OpenAIModel
from glados.core.models.settings import ModelSettings, OpenAISettings
from glados.core.settings import Settings


def choose_model(settings: Settings, providers: Sequence[ModelProvider]) -> Model:
    """The model that the settings name."""
    name = settings.section("model", ModelSettings).load().normal
    for provider in providers if name is not None else ():
        model = provider.model(name or "")
        if model is not None:
            return model
    where = settings.section("openai", OpenAISettings).load()
    if where.api_key is None and where.base_url is None:
        return OfflineModel()
    key = where.api_key.get_secret_value() if where.api_key is not None else None
    return OpenAIModel(name, api_key=key, base_url=where.base_url)
