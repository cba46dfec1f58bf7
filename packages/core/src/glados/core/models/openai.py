"""Models behind OpenAI's chat completions API, or behind any service that speaks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from glados.core.errors import InvalidSetting, ModelError
from glados.core.model import ModelDelta, ModelRequest
from glados.core.models.chat_request import ChatRequest
from glados.core.models.chat_stream import Answer
from glados.core.models.errors import ModelNotFound
from glados.core.models.failures import Failures
from glados.core.models.tool_calls import ToolCalls

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"  # the SDK insists on a key, a service of one's own mostly needs none
_DRAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Sdk:
    """The SDK's client, and the names of the SDK that are needed beside it."""

    client: openai.AsyncOpenAI
    stream: type[openai.AsyncStream[object]]
    error: type[openai.OpenAIError]
    status_error: type[openai.APIStatusError]
    timeouts: tuple[type[Exception], ...]
    transport_errors: tuple[type[Exception], ...]


class OpenAIModel:
    """A model of a service with OpenAI's chat completions API.

    Without a name it is the first model that the service at `base_url` lists. The SDK asks again, up to `max_retries`
    times with its backoff, when there was no answer at all or one of 408, 409, 429 and 5xx; a stream that has begun is
    never asked for again.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int = 2,
    ) -> None:
        key = (api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InvalidSetting("OPENAI_API_KEY holds a character that no key has: copy the key again.")
        self._name = name
        self._api_key = key or None
        self._base_url = base_url or OPENAI_URL
        self._timeout = timeout
        self._max_retries = max_retries
        self._sdk: _Sdk | None = None
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model's name; of one that nobody named, known once the service was asked."""
        return self._name or "the first model of the service"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request."""
        sdk, name = await self._open()
        failures = self._failures()
        chat = ChatRequest.of(request)
        response = await self._send(sdk, chat.body(self._options(request)), failures)
        answer = Answer(ToolCalls(chat.names, chat.call_ids), name, failures)
        try:
            pieces = _pieces(response, failures)
            async for piece in pieces:
                for delta in answer.feed(piece):
                    yield delta
                if answer.ended:
                    await _drain(pieces)
                    break
        except sdk.timeouts:
            if not answer.finished:
                raise failures.timed_out() from None
        except sdk.transport_errors:
            if not answer.finished:
                raise failures.cut() from None
        finally:
            await response.aclose()
        yield answer.done()

    async def close(self) -> None:
        """Close the connections."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.client.close()

    def _failures(self) -> Failures:
        return Failures(self._base_url, self.name, self._api_key)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"model": self._name, "stream": True, "stream_options": {"include_usage": True}}
        if request.max_output_tokens is not None:
            # OpenAI's newer models refuse the old name, most other services do not know the new one.
            key = "max_completion_tokens" if self._base_url.rstrip("/") == OPENAI_URL else "max_tokens"
            options[key] = request.max_output_tokens
        return options

    async def _open(self) -> tuple[_Sdk, str]:
        """The client and the model's name, both made on first use and kept."""
        if self._sdk is not None and self._name:
            return self._sdk, self._name
        async with self._opening:
            if self._sdk is None:
                self._sdk = await asyncio.to_thread(self._connect)
            if not self._name:
                self._name = await self._first_model(self._sdk)
            return self._sdk, self._name

    def _connect(self) -> _Sdk:
        """Import the SDK and make its client, in a thread: together they take almost half a second."""
        import httpx2
        import openai

        try:
            client = openai.AsyncOpenAI(
                api_key=self._api_key or _NO_KEY,
                base_url=self._base_url,
                max_retries=self._max_retries,
                timeout=openai.not_given if self._timeout is None else self._timeout,
            )
        except httpx2.InvalidURL as error:
            raise self._failures().unreachable(error) from None
        return _Sdk(
            client=client,
            stream=openai.AsyncStream[object],
            error=openai.OpenAIError,
            status_error=openai.APIStatusError,
            timeouts=(openai.APITimeoutError, httpx2.TimeoutException),
            transport_errors=(httpx2.RequestError, httpx2.StreamError),
        )

    async def _first_model(self, sdk: _Sdk) -> str:
        failures = self._failures()
        if self._base_url == OPENAI_URL:
            raise ModelNotFound("No model is named: set MODEL_NORMAL, for example to gpt-5.")
        try:
            listing = await sdk.client.get("/models", cast_to=object)
        except sdk.error as error:
            raise _failure(sdk, error, failures) from None
        except ValueError:
            raise failures.malformed("GET /models is not JSON") from None
        try:
            return str(cast("Any", listing)["data"][0]["id"])
        except (LookupError, TypeError):
            raise failures.malformed("GET /models lists no model") from None

    async def _send(self, sdk: _Sdk, body: bytes, failures: Failures) -> httpx2.Response:
        try:
            stream = await sdk.client.post(
                "/chat/completions", content=body, cast_to=object, stream=True, stream_cls=sdk.stream
            )
        except sdk.error as error:
            raise _failure(sdk, error, failures) from None
        return stream.response


async def _pieces(response: httpx2.Response, failures: Failures) -> AsyncIterator[bytes]:
    """The answer's bytes as they arrive; one that is not streamed becomes a stream of one event."""
    content_type: str = response.headers.get("content-type", "")
    if "html" in content_type:
        raise failures.malformed(content_type)
    if "application/json" in content_type:
        body = await response.aread()
        yield b"data:" + body.replace(b"\n", b" ") + b"\n\n"
        return
    async for piece in response.aiter_bytes():
        yield piece
    yield b"\n\n"  # some services leave out the empty line after the last event


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, mostly nothing: only then can the connection be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass


def _failure(sdk: _Sdk, error: openai.OpenAIError, failures: Failures) -> ModelError:
    """The SDK's error as one of ours; not chained to it, because it holds the request with the key."""
    if isinstance(error, sdk.status_error):
        return failures.answered(error.status_code, error.body, error.response.headers)
    if isinstance(error, sdk.timeouts):
        return failures.timed_out()
    return failures.unreachable(error.__cause__ or error)
