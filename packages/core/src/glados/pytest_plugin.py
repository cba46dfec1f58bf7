"""The pytest plugin of `glados-core[testing]`: the fixture `glados_app`.

It lies beside `glados.core`, not in it, so that a test run that uses no fixture of ours imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from glados.core.testing import AppFactory


pytest.register_assert_rewrite("glados.core.conformance")


class AsyncioOnly:
    """Runs async tests on asyncio, whatever else is installed; tests without `anyio_backend` are not touched."""

    @pytest.fixture(scope="session")
    @staticmethod
    def anyio_backend() -> str:
        """The backend of anyio's pytest plugin."""
        return "asyncio"


def pytest_configure(config: pytest.Config) -> None:
    """Register the backend after every other plugin, because the last one to define a fixture wins."""
    config.pluginmanager.register(AsyncioOnly(), "glados-asyncio-only")


@pytest.fixture
async def glados_app(tmp_path: Path, anyio_backend: str) -> AsyncIterator[AppFactory]:
    """Opens apps: `app = await glados_app(plugins=[DicePlugin], settings={"dice": {"sides": 2}})`."""
    from glados.core.testing import AppFactory

    factory = AppFactory(tmp_path / "glados-data")
    yield factory
    await factory.close()
