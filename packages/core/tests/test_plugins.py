"""What a plugin is: its settings, its section, what it needs, and where its migrations are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from glados.core import NoSettings, Plugin, PluginError, PluginRecord, Prepare, hookimpl
from glados.core.plugins import HOOKS, check_class
from glados.core.testing import AppFactory


class DiceSettings(BaseModel):
    sides: int = 6


class DicePlugin(Plugin[DiceSettings]):
    id = "loaded-dice"
    migrations = "migrations"


class DerivedPlugin(DicePlugin):
    requires = ("database", "other")


class BarePlugin(Plugin):
    id = "bare"


def test_the_settings_type_is_what_stands_in_brackets_also_for_subclasses() -> None:
    assert DicePlugin.settings_model is DiceSettings
    assert DerivedPlugin.settings_model is DiceSettings
    assert BarePlugin.settings_model is NoSettings


def test_the_section_is_the_id_with_underscores() -> None:
    assert DicePlugin.section() == "loaded_dice"


def test_a_plugin_with_migrations_requires_the_database_once() -> None:
    assert DicePlugin.needs() == ("database",)
    assert DerivedPlugin.needs() == ("database", "other")
    assert BarePlugin.needs() == ()


def test_migrations_lie_beside_the_module_that_declares_the_plugin() -> None:
    assert DicePlugin.migrations_path() == Path(__file__).parent / "migrations"
    with pytest.raises(PluginError, match="Plugin 'bare' declares no migrations"):
        BarePlugin.migrations_path()


def test_a_class_is_accepted_under_its_own_id_only() -> None:
    assert check_class("bare", BarePlugin) is BarePlugin
    with pytest.raises(PluginError, match=r"is named 'other', but BarePlugin\.id is 'bare': make them equal"):
        check_class("other", BarePlugin)


def test_there_are_five_hooks() -> None:
    assert HOOKS == ("setup", "prepare", "before_tool", "after_tool", "teardown")


def test_a_record_that_failed_says_why() -> None:
    record = PluginRecord("dice")
    record.fail("Because.")
    assert (record.to_dict()["state"], record.to_dict()["reason"]) == ("failed", "Because.")


async def test_a_property_that_needs_the_settings_is_not_touched_when_the_hooks_are_checked(
    glados_app: AppFactory,
) -> None:
    seen: list[int] = []

    class Limited(Plugin[DiceSettings]):
        id = "limited"

        @property
        def limit(self) -> int:
            return self.settings.sides

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            seen.append(self.limit)

    await glados_app(plugins=[Limited], settings={"limited": {"sides": 3}})
    assert seen == [3]
