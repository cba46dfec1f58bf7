"""Models behind OpenAI's responses or chat completions API, or behind any service that speaks one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glados.core.errors import ModelError
from glados.core.model import ModelDelta, ModelRequest
from glados.core.models.answer import Answer
from glados.core.models.apis import CHAT, RESPONSES, Api, is_missing
from glados.core.models.connection import Connection, drain, pieces
from glados.core.models.refusals import Refusals, refuses_thoughts
from glados.core.models.settings import ApiChoice

if TYPE_CHECKING:
    import httpx2

_NO_THOUGHTS = "glados.no_thoughts"


@dataclass(frozen=True, slots=True)
class _Asked:
    response: httpx2.Response
    answer: Answer


class OpenAIModel:
    """A model of a service with OpenAI's API.

    Without a name it is the first model that the service lists. Which API an `auto` model speaks, and which options
    its service refuses, is found out once and remembered. A stream that has begun is never asked for again.
    """

    def __init__(self, name: str | None = None, connection: Connection | None = None, api: ApiChoice = "auto") -> None:
        self._name = name
        self._connection = connection or Connection()
        self._naming = asyncio.Lock()
        openai = self._connection.is_openai
        self._api = RESPONSES if api == "responses" or (api == "auto" and openai) else CHAT
        self._api_is_sure = api != "auto"
        self._refusals = Refusals("max_tokens") if openai else Refusals()

    @property
    def name(self) -> str:
        """The model's name; of one that nobody named, known once the service was asked."""
        return self._name or "the first model of the service"

    @property
    def api(self) -> str:
        """The API by which it is asked now: responses or chat."""
        return self._api.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request."""
        sdk = await self._connection.open()
        asked = await self._ask(request, await self._named())
        response, answer = asked.response, asked.answer
        try:
            arriving = pieces(response, answer.failures)
            async for piece in arriving:
                for delta in answer.feed(piece):
                    yield delta
                if answer.ended:
                    await drain(arriving)
                    break
        except sdk.timeouts:
            if not answer.finished:
                raise answer.failures.timed_out() from None
        except sdk.transport_errors:
            if not answer.finished:
                raise answer.failures.cut() from None
        finally:
            await response.aclose()
        yield answer.done()

    async def close(self) -> None:
        """Close the connection, also for the other models on it."""
        await self._connection.close()

    async def _named(self) -> str:
        if self._name:
            return self._name
        async with self._naming:
            if not self._name:
                self._name = await self._connection.first_model(self._connection.failures(self.name))
            return self._name

    async def _ask(self, request: ModelRequest, name: str) -> _Asked:
        """Send the request; where the API that was chosen for us is missing, by the other one."""
        try:
            asked = await self._ask_by(self._api, request, name)
        except ModelError as error:
            if self._api_is_sure or not is_missing(error):
                raise
            missing = error
        else:
            self._api_is_sure = True
            return asked
        other = CHAT if self._api is RESPONSES else RESPONSES
        try:
            asked = await self._ask_by(other, request, name)
        except ModelError as error:
            raise (missing if is_missing(error) else error) from None
        self._api, self._api_is_sure = other, True
        return asked

    async def _ask_by(self, api: Api, request: ModelRequest, name: str) -> _Asked:
        """Send the request, and again without what the service refuses."""
        failures, mark = self._connection.failures(name), f"{api.name} {self._connection.service}"
        while True:
            encoded = api.request.of(request, None if request.memo.get(_NO_THOUGHTS) == mark else mark)
            options = api.options(name, request, self._refusals)
            try:
                response = await self._connection.post(api.path, encoded.body(options), failures)
            except ModelError as error:
                if encoded.has_thoughts and refuses_thoughts(error):
                    request.memo[_NO_THOUGHTS] = mark
                elif not self._refusals.learn(error, options):
                    raise
            else:
                return _Asked(response, api.answer(encoded, name, failures, mark))
