"""Settings and rules that speak of nothing: they are told at the start, because they fail in silence afterwards."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Sequence

from glados.core.discovery import Discovery
from glados.core.rules import Rule
from glados.core.settings import RESERVED_SECTIONS, Layer, Settings
from glados.core.tools import Tool

log = logging.getLogger("glados.settings")


def warn_of_sections(settings: Settings, found: Discovery) -> None:
    """Tell of sections that nobody reads: misspelt, or of a plugin that is not installed."""
    known = {*RESERVED_SECTIONS, *(record.id.replace("-", "_") for record in found.records)}
    for layer in (*settings.layers, Layer("App.open(settings=…)", settings.overrides)):
        for section in layer.values:
            if section not in known:
                meant = _meant(section, known) or "no installed plugin has it."
                log.warning("nobody reads the section [%s] of %s: %s", section, layer.source, meant)


def warn_of_rules(rules: Sequence[Rule], tools: Sequence[Tool]) -> None:
    """Tell of permission rules that match no tool, or name a field that no such tool has."""
    for rule in rules:
        matched = [tool for tool in tools if rule.concerns(tool.id)]
        if not matched:
            meant = _meant(rule.tool, [tool.id for tool in tools]) or "no enabled plugin has it."
            log.warning("the permission rule '%s %s' matches no tool: %s", rule.effect, rule, meant)
            continue
        if any(tool.permission is not None for tool in matched):
            continue  # such a tool may give fields that its input does not have
        fields = {name for tool in matched for name in tool.input_model.model_fields}
        for name in rule.fields:
            if name not in fields:
                meant = _meant(name, fields) or f"there are {', '.join(sorted(fields)) or 'none'}."
                log.warning("the permission rule '%s %s' names no field of its tool: %s", rule.effect, rule, meant)


def _meant(word: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else None
