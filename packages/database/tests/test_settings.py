from __future__ import annotations

from pathlib import Path

import pytest

from glados.core import InvalidSetting, Settings
from glados.database import DatabaseSettings


def load(**environ: str) -> DatabaseSettings:
    return Settings(environ=environ).section("database", DatabaseSettings).load()


def test_the_default_is_a_file_in_the_data_directory() -> None:
    url = load().location(Path("/data"))
    assert (url.kind, url.path) == ("sqlite", Path("/data/glados.sqlite3"))


def test_the_environment_names_the_database() -> None:
    url = load(DATABASE_URL="postgres://me:secret@host/name").location(Path("/data"))
    assert (url.kind, url.shown) == ("postgresql", "postgresql://me:***@host/name")


def test_a_wrong_address_stops_the_start_and_is_not_shown() -> None:
    with pytest.raises(InvalidSetting, match=r"DATABASE_URL .* 'mysql' is neither sqlite nor postgresql") as raised:
        load(DATABASE_URL="mysql://me:secret@host/name")
    assert "secret" not in raised.value.message


def test_migrate_is_auto_or_check() -> None:
    assert load(DATABASE_MIGRATE="check").migrate == "check"
    with pytest.raises(InvalidSetting, match="DATABASE_MIGRATE"):
        load(DATABASE_MIGRATE="never")


def test_every_setting_is_described() -> None:
    assert all(field.description for field in DatabaseSettings.model_fields.values())
