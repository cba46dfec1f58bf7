"""The app as the daemon opens it: installed plugins, file layers, the environment, and the caller's own services."""

from __future__ import annotations

from pathlib import Path

import pytest

from glados.core import GladosSettings, Layer, ServiceNotFound, Services
from glados.server.assembly import open_app


class Extra:
    """A service that the caller brings."""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"GLADOS_DATA_DIR": str(tmp_path / "data"), "PLUGINS_LOAD": "database"}


async def test_the_installed_plugins_are_found(environ: dict[str, str]) -> None:
    async with open_app([], environ=environ) as app:
        states = {record.id: record.state for record in app.plugins}
        assert states["database"] == "enabled"
        assert states["web-fetch"] == "disabled"
        assert app.model_name == "offline"


async def test_the_environment_wins_over_files_and_overrides_over_both(environ: dict[str, str], tmp_path: Path) -> None:
    layer = Layer("a file", {"glados": {"data_dir": str(tmp_path / "file"), "log_level": "error"}})
    overrides = {"glados": {"log_level": "debug"}}
    async with open_app([layer], environ=environ, overrides=overrides) as app:
        settings = app.services.get(GladosSettings)
        assert (settings.data_dir, settings.log_level) == (tmp_path / "data", "debug")


async def test_services_of_the_caller_are_there_before_the_plugins(environ: dict[str, str]) -> None:
    def extra(services: Services) -> None:
        services.provide(Extra, Extra)

    async with open_app([], extra=extra, environ=environ) as app:
        assert isinstance(app.services.get(Extra), Extra)
    async with open_app([], environ=environ) as app:
        with pytest.raises(ServiceNotFound):
            app.services.get(Extra)
