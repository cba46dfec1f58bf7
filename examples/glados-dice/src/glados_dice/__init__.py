"""Dice for glados: an example of a plugin with a setting, a table and two tools."""

from glados_dice.plugin import DicePlugin
from glados_dice.service import DiceService

__all__ = ["DicePlugin", "DiceService"]
