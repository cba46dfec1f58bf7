"""What the plugin declares and registers."""

from __future__ import annotations

from glados.core import Plugin, Prepare, Services, hookimpl
from glados.database import DatabaseService

from glados_dice.service import DiceService
from glados_dice.settings import DiceSettings
from glados_dice.tools import history, roll


class DicePlugin(Plugin[DiceSettings]):
    """Dice that remember what came up."""

    id = "dice"
    requires = ("database",)
    migrations = "migrations"

    @hookimpl
    async def setup(self, services: Services) -> None:
        services.provide(DiceService, lambda: DiceService(services.get(DatabaseService), self.settings.sides))

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        prepare.tools += [roll, history]
        prepare.context.append(f"Dice have {self.settings.sides} sides; dice.roll rolls them.")
