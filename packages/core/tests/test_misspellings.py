"""Settings and rules that speak of nothing are told at the start."""

from __future__ import annotations

import logging

import pytest

from glados.core import PermissionRequest, tool
from glados.core.testing import AppFactory, plugin_of


@tool("toys.make", read_only=True, open_world=False)
async def make(size: int = 1) -> int:
    """Make."""
    return size


@tool("toys.get", read_only=True, open_world=False, permission=lambda _: PermissionRequest({"domain": "a"}))
async def get(url: str = "") -> str:
    """Get."""
    return url


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"toyz": {"size": 1}}, "nobody reads the section [toyz] of App.open(settings=…): did you mean 'toys'?"),
        ({"zzz": {}}, "nobody reads the section [zzz] of App.open(settings=…): no installed plugin has it."),
        ({"permissions": {"deny": ["toys.mkae"]}}, "'deny toys.mkae' matches no tool: did you mean 'toys.make'?"),
        ({"permissions": {"ask": ["zzz.*"]}}, "'ask zzz.*' matches no tool: no enabled plugin has it."),
        ({"permissions": {"deny": ["toys.make(siez=1)"]}}, "names no field of its tool: did you mean 'size'?"),
    ],
)
async def test_what_nobody_reads_is_told(
    settings: dict[str, dict[str, object]], told: str, glados_app: AppFactory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "glados"):
        await glados_app(plugins=[plugin_of(make)], settings=settings)

    assert told in caplog.text


async def test_what_somebody_reads_is_not_told(glados_app: AppFactory, caplog: pytest.LogCaptureFixture) -> None:
    rules = ["toys.make(size=1)", "toys.get(domain=*.org)", "*"]
    with caplog.at_level(logging.WARNING, "glados"):
        await glados_app(plugins=[plugin_of(make, get)], settings={"permissions": {"allow": rules}})

    assert caplog.text == ""
