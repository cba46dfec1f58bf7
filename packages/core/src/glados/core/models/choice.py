"""Which model answers: one that a plugin brings, one behind a URL or a key, or the offline one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal, overload

from glados.core import foreign
from glados.core.model import Model, ModelProvider
from glados.core.models.offline import OfflineModel
from glados.core.models.settings import ModelSettings, OpenAISettings
from glados.core.settings import Settings

if TYPE_CHECKING:
    from glados.core.models.connection import Connection

PROVIDER_TIMEOUT = 10.0  # seconds in which a plugin says whether a model is one of its own


class Models:
    """The models that the settings and the plugins give, each made when it is first asked for."""

    def __init__(
        self, settings: Settings, providers: Sequence[ModelProvider] = (), *, given: Model | None = None
    ) -> None:
        self._given = given  # a program's own model answers in every role but the fallback's
        self.settings = settings.section("model", ModelSettings).load()
        self._providers = tuple(providers)
        self._connection = _connection(settings.section("openai", OpenAISettings).load())
        self._models: dict[str | None, Model] = {}

    @overload
    def resolve(self, role_or_name: Literal["normal", "high", "small"] = "normal") -> Model: ...

    @overload
    def resolve(self, role_or_name: str) -> Model | None: ...

    def resolve(self, role_or_name: str = "normal") -> Model | None:
        """The model of a role or of that name; only the fallback may be none.

        Who has no `high` or `small` model uses the normal one. Where nothing is configured the offline model answers.
        """
        if role_or_name == "fallback":
            name = self.settings.fallback
            return self._named(name) if name else None
        roles = {"normal": None, "high": self.settings.high, "small": self.settings.small}
        if self._given is not None and role_or_name in roles:
            return self._given
        name = roles.get(role_or_name, role_or_name) or self.settings.normal
        return self._named(name) or self._offline()

    async def close(self) -> None:
        """Close every model that was used; one that fails keeps no other open."""
        models, self._models = [*self._models.values()], {}
        if self._given is not None:
            models.append(self._given)
        async with AsyncExitStack() as stack:
            for model in models:
                stack.push_async_callback(model.close)

    def _named(self, name: str | None) -> Model | None:
        """The model of that name, once and for all; None if nobody has it."""
        known = self._models.get(name) or self._provided(name)
        if known is None and self._connection is not None:
            from glados.core.models.openai import OpenAIModel  # who has no service of models needs none of it

            known = OpenAIModel(name, self._connection, self.settings.api)
        if known is not None:
            self._models[name] = known
        return known

    def _provided(self, name: str | None) -> Model | None:
        for provider in self._providers if name is not None else ():
            what = f"The model provider {type(provider).__name__}"
            model = foreign.load(what, partial(provider.model, name or ""), PROVIDER_TIMEOUT)
            if model is not None:
                return model
        return None

    def _offline(self) -> Model:
        return self._models.setdefault(OfflineModel.name, OfflineModel())


def _connection(settings: OpenAISettings) -> Connection | None:
    if settings.api_key is None and settings.base_url is None:
        return None
    from glados.core.models.connection import Connection

    key = settings.api_key.get_secret_value() if settings.api_key is not None else None
    return Connection(api_key=key, base_url=settings.base_url)
