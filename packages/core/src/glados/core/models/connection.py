"""The connection to one model service: the SDK's client for it, shared by all its models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from glados.core.errors import InvalidSetting, ModelError
from glados.core.models.errors import ModelNotFound
from glados.core.models.failures import Failures, shown_url

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"  # the SDK insists on a key, a service of one's own mostly needs none
_DRAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Sdk:
    """The SDK's client, and the names of the SDK that are needed beside it."""

    client: openai.AsyncOpenAI
    stream: type[openai.AsyncStream[object]]
    error: type[openai.OpenAIError]
    status_error: type[openai.APIStatusError]
    timeouts: tuple[type[Exception], ...]
    transport_errors: tuple[type[Exception], ...]


class Connection:
    """Where a service is and how it is asked; opened by the first request and again after a close.

    Nothing is asked twice unless `max_retries` says so: whoever runs the model knows better when to try again.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int = 0,
    ) -> None:
        key = (api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InvalidSetting("OPENAI_API_KEY holds a character that no key has: copy the key again.")
        self.base_url = base_url or OPENAI_URL
        self._api_key = key or None
        self._timeout = timeout
        self._max_retries = max_retries
        self._sdk: Sdk | None = None
        self._opening = asyncio.Lock()

    @property
    def service(self) -> str:
        """The address as it may be told and stored."""
        return shown_url(self.base_url).rstrip("/")

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI itself and not a service that is like it."""
        with suppress(ValueError):
            return urlsplit(self.base_url).hostname == "api.openai.com"
        return False

    def failures(self, model: str) -> Failures:
        """What makes the errors of one model here."""
        return Failures(self.base_url, model, self._api_key)

    async def open(self) -> Sdk:
        """The client, made on first use and kept."""
        if self._sdk is not None:
            return self._sdk
        async with self._opening:
            if self._sdk is None:
                self._sdk = await asyncio.to_thread(self._connect)
            return self._sdk

    async def close(self) -> None:
        """Close what is open."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.client.close()

    async def first_model(self, failures: Failures) -> str:
        """The name of the first model that the service lists."""
        if self.is_openai:
            raise ModelNotFound("No model is named: set MODEL_NORMAL, for example to gpt-5.")
        sdk = await self.open()
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

    async def post(self, path: str, body: bytes, failures: Failures) -> httpx2.Response:
        """Send one request and give its answer once it begins."""
        sdk = await self.open()
        try:
            stream = await sdk.client.post(path, content=body, cast_to=object, stream=True, stream_cls=sdk.stream)
        except sdk.error as error:
            raise _failure(sdk, error, failures) from None
        return stream.response

    def _connect(self) -> Sdk:
        """Import the SDK and make its client, in a thread: together they take almost half a second."""
        import httpx2
        import openai

        try:
            client = openai.AsyncOpenAI(
                api_key=self._api_key or _NO_KEY,
                base_url=self.base_url,
                max_retries=self._max_retries,
                timeout=openai.not_given if self._timeout is None else self._timeout,
            )
        except httpx2.InvalidURL as error:
            raise self.failures("").unreachable(error) from None
        return Sdk(
            client=client,
            stream=openai.AsyncStream[object],
            error=openai.OpenAIError,
            status_error=openai.APIStatusError,
            timeouts=(openai.APITimeoutError, httpx2.TimeoutException),
            transport_errors=(httpx2.RequestError, httpx2.StreamError),
        )


async def pieces(response: httpx2.Response, failures: Failures) -> AsyncIterator[bytes]:
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


async def drain(rest: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, mostly nothing: only then can the connection be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in rest:
                pass


def _failure(sdk: Sdk, error: openai.OpenAIError, failures: Failures) -> ModelError:
    """The SDK's error as one of ours; not chained to it, because it holds the request with the key."""
    if isinstance(error, sdk.status_error):
        return failures.answered(error.status_code, error.body, error.response.headers)
    if isinstance(error, sdk.timeouts):
        return failures.timed_out()
    return failures.unreachable(error.__cause__ or error)
