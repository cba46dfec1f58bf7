"""The settings of the web fetch plugin, section `web_fetch`."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, IPvAnyNetwork, SecretStr

Mode = Literal["html", "markdown", "links"]
Port = Annotated[int, Field(ge=1, le=65535)]

MAX_CHARACTERS = 1_000_000
MAX_TIMEOUT = 600.0


def _check_proxy(proxy: SecretStr) -> SecretStr:
    """What is wrong is not quoted: it may hold a password."""
    text = proxy.get_secret_value()
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    usable = parts.scheme in ("http", "https") and parts.hostname and text.isascii() and text.isprintable()
    if not usable or " " in text or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(
            "give it as http://host:port or https://host:port, with user:password@ before the host if need be"
        )
    return proxy


class WebFetchSettings(BaseModel):
    """How much is fetched, how, and from where."""

    model_config = ConfigDict(frozen=True)

    max_characters: int = Field(
        default=50_000,
        ge=1,
        le=MAX_CHARACTERS,
        description="How many characters of a page a fetch returns, unless the call says otherwise.",
    )
    default_mode: Mode = Field(
        default="markdown",
        description="What a fetch returns, unless the call says otherwise: html, markdown or links.",
    )
    user_agent: str = Field(
        default="GLaDOS-Agent/1.0",
        min_length=1,
        max_length=256,
        pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$",
        description="The User-Agent header of every request.",
    )
    timeout: float = Field(
        default=30.0,
        ge=0.1,
        le=MAX_TIMEOUT,
        allow_inf_nan=False,
        description="How many seconds one fetch may take in all, redirects and conversion included.",
    )
    connect_timeout: float = Field(
        default=5.0,
        ge=0.1,
        le=MAX_TIMEOUT,
        allow_inf_nan=False,
        description="How many seconds each address of a host may take to accept a connection.",
    )
    max_bytes: int = Field(
        default=5_000_000,
        ge=1_000,
        le=100_000_000,
        description="How many bytes of a body are read; a longer one is cut.",
    )
    convert_seconds: float = Field(
        default=1.5,
        ge=0.1,
        le=60.0,
        allow_inf_nan=False,
        description="How many seconds of CPU time the conversion of one page may take.",
    )
    convert_memory: int = Field(
        default=300_000_000,
        ge=100_000_000,
        le=10_000_000_000,
        description="How many bytes of memory a process that converts pages may have.",
    )
    convert_timeout: float = Field(
        default=20.0,
        ge=0.1,
        le=MAX_TIMEOUT,
        allow_inf_nan=False,
        description="How many seconds the conversion of one page may take by the clock, however busy the machine is.",
    )
    workers: int = Field(default=2, ge=1, le=64, description="How many processes convert pages at the same time.")
    worker_idle: float = Field(
        default=60.0,
        ge=0.0,
        le=86_400.0,
        allow_inf_nan=False,
        description="After how many seconds without a page a process that converts pages is ended.",
    )
    max_redirects: int = Field(default=5, ge=0, le=20, description="How many redirects one fetch follows.")
    allowed_ports: list[Port] = Field(
        default=[80, 443],
        min_length=1,
        max_length=100,
        description="The ports that a fetch may connect to.",
    )
    allowed_addresses: list[IPvAnyNetwork] = Field(
        default=[],
        max_length=100,
        description=(
            "Networks such as 10.1.0.0/16 that may be fetched from although they are not public, on any port;"
            " their hosts still have to be on the allowlist."
        ),
    )
    cache_ttl: float = Field(
        default=300.0,
        ge=0,
        le=86_400,
        allow_inf_nan=False,
        description="For how many seconds a page is kept before its server is asked again; 0 turns the cache off.",
    )
    cache_max_bytes: int = Field(
        default=50_000_000,
        ge=1_000,
        le=10_000_000_000,
        description="How much memory the cached pages may take; those that nobody asked for longest go first.",
    )
    concurrency: int = Field(default=5, ge=1, le=100, description="How many requests are under way at a time.")
    concurrency_per_host: int = Field(
        default=2, ge=1, le=100, description="How many of them are sent to one host at a time."
    )
    robots: Literal["off", "obey"] = Field(
        default="off",
        description="obey: fetch a page only if its host's robots.txt allows it to the user agent; off: do not ask.",
    )
    proxy: Annotated[SecretStr, AfterValidator(_check_proxy)] | None = Field(
        default=None,
        description=(
            "A proxy that all fetches go through, such as http://proxy.example.com:3128 or"
            " http://user:password@proxy.example.com:3128; every address is still vetted before it is asked for."
        ),
    )
