from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from pydantic import ValidationError

from glados.core import InvalidSetting, Settings
from glados.web_fetch.settings import WebFetchSettings


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert WebFetchSettings().model_dump() == {
        "max_characters": 50_000,
        "default_mode": "markdown",
        "user_agent": "GLaDOS-Agent/1.0",
        "timeout": 30.0,
        "connect_timeout": 5.0,
        "max_bytes": 5_000_000,
        "convert_seconds": 1.5,
        "convert_memory": 300_000_000,
        "convert_timeout": 20.0,
        "workers": 2,
        "worker_idle": 60.0,
        "max_redirects": 5,
        "allowed_ports": [80, 443],
        "allowed_addresses": [],
        "cache_ttl": 300.0,
        "cache_max_bytes": 50_000_000,
        "concurrency": 5,
        "concurrency_per_host": 2,
        "robots": "off",
        "proxy": None,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_characters", 0),
        ("max_characters", 1_000_001),
        ("default_mode", "text"),
        ("user_agent", ""),
        ("user_agent", "a\r\nX-Injected: 1"),
        ("user_agent", "ü"),
        ("timeout", 0),
        ("timeout", "inf"),
        ("timeout", "nan"),
        ("max_bytes", 999),
        ("convert_seconds", 0),
        ("convert_seconds", "nan"),
        ("convert_memory", 99_999_999),
        ("convert_timeout", "inf"),
        ("workers", 0),
        ("workers", 65),
        ("worker_idle", -1),
        ("max_redirects", -1),
        ("max_redirects", 21),
        ("allowed_ports", []),
        ("allowed_ports", [0]),
        ("allowed_ports", [65536]),
        ("allowed_addresses", ["nonsense"]),
        ("allowed_addresses", ["10.0.0.1/8"]),
        ("cache_ttl", -1),
        ("cache_ttl", 86_401),
        ("cache_ttl", "inf"),
        ("cache_max_bytes", 999),
        ("cache_max_bytes", 10_000_000_001),
        ("concurrency", 0),
        ("concurrency", 101),
        ("concurrency_per_host", 0),
        ("concurrency_per_host", 101),
        ("robots", "ignore"),
        ("proxy", "proxy.test:3128"),
        ("proxy", "socks5://proxy.test:1080"),
        ("proxy", "http://"),
        ("proxy", "http://proxy.test:99999"),
        ("proxy", "http://proxy.test/path"),
        ("proxy", "http://proxy.test:3128?x"),
        ("proxy", "http://pro xy.test"),
        ("proxy", "http://pröxy.test"),
    ],
)
def test_a_value_out_of_bounds_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        WebFetchSettings.model_validate({field: value})


def test_every_setting_is_described() -> None:
    assert all(field.description for field in WebFetchSettings.model_fields.values())


def test_every_setting_is_a_plain_environment_variable() -> None:
    environ = {
        "WEB_FETCH_MAX_CHARACTERS": "10",
        "WEB_FETCH_ALLOWED_PORTS": "80,8080",
        "WEB_FETCH_ALLOWED_ADDRESSES": "127.0.0.0/8, ::1/128",
    }
    settings = Settings(environ=environ).section("web_fetch", WebFetchSettings).load()
    assert settings.max_characters == 10
    assert settings.allowed_ports == [80, 8080]
    assert settings.allowed_addresses == [ip_network("127.0.0.0/8"), ip_network("::1/128")]


def test_a_wrong_network_is_told_by_the_name_of_its_variable() -> None:
    section = Settings(environ={"WEB_FETCH_ALLOWED_ADDRESSES": "10.0.0.1/8"}).section("web_fetch", WebFetchSettings)
    with pytest.raises(InvalidSetting, match="WEB_FETCH_ALLOWED_ADDRESSES"):
        section.load()


def test_the_proxy_is_a_secret_wherever_it_is_shown() -> None:
    environ = {"WEB_FETCH_PROXY": "http://user:hunter2@proxy.test:3128"}
    section = Settings(environ=environ).section("web_fetch", WebFetchSettings)
    settings = section.load()
    assert settings.proxy is not None
    assert settings.proxy.get_secret_value() == environ["WEB_FETCH_PROXY"]
    shown = f"{settings!r} {[setting.shown for setting in section.values]!r}"
    assert "hunter2" not in shown
    assert "user" not in repr(settings.proxy)


def test_a_wrong_proxy_is_told_without_its_password() -> None:
    section = Settings(environ={"WEB_FETCH_PROXY": "user:hunter2@proxy.test"}).section("web_fetch", WebFetchSettings)
    with pytest.raises(InvalidSetting, match="WEB_FETCH_PROXY") as caught:
        section.load()
    assert "hunter2" not in str(caught.value)
