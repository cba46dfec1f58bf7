"""Every section of settings as it is read, for people and for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glados.core import InvalidSetting, MissingSetting, Section, Setting, Settings
from glados.core.settings import env_name
from glados.server.cli.output import Output
from glados.server.sections import SectionModel, Unread


class Overview:
    """Every section as it is read, and what is wrong with it."""

    def __init__(self, settings: Settings, found: list[SectionModel | Unread]) -> None:
        self.unread = [section for section in found if isinstance(section, Unread)]
        self.sections = [_read(settings, section) for section in found if isinstance(section, SectionModel)]
        self.warnings = list(_unclaimed(settings, {section.name for section in found}))

    @property
    def is_wrong(self) -> bool:
        """Whether a value that somebody gave stops the start."""
        return any(_given_errors(section) for section in self.sections) or any(u.failed for u in self.unread)

    def to_dict(self) -> dict[str, Any]:
        """The sections and warnings as JSON; a secret is never in it."""
        sections: dict[str, Any] = {section.name: _values(section) for section in self.sections}
        unread = [{"section": u.name, "plugin": u.plugin, "reason": u.reason} for u in self.unread]
        return {"sections": sections, "unread": unread, "warnings": self.warnings}

    def print(self, out: Output) -> None:
        """Print one block a section, wrong values marked with '!'."""
        for section in self.sections:
            out.line(f"[{section.name}]")
            if section.values:
                out.table([_row(setting) for setting in section.values])
            told = dict.fromkeys(str(setting.error) for setting in section.errors)  # one may be about several values
            for fault in told or ([section.fault] if section.fault else []):
                out.line(f"  ! {fault}")
            out.line()
        for unread in self.unread:
            out.line(f"[{unread.name}] is not shown: {unread.reason}")
        for warning in self.warnings:
            out.line(f"warning: {warning}")


def _read(settings: Settings, section: SectionModel) -> Section[Any]:
    """A section, with the switch that every plugin has."""
    read = settings.section(section.name, section.model)
    if section.plugin is None:
        return read
    enabled, source = settings.enabled(section.name)
    switch = Setting("enabled", env_name(section.name, "enabled"), enabled, source, "Whether the plugin is loaded.")
    return replace(read, values=(switch, *read.values))


def _given_errors(section: Section[Any]) -> bool:
    """Whether somebody gave a wrong value; one that is only missing costs its plugin alone."""
    try:
        section.load()
    except MissingSetting:
        return False
    except InvalidSetting:
        return True
    return False


def _values(section: Section[Any]) -> dict[str, Any]:
    return {
        setting.name: {
            "value": setting.shown(),
            "source": setting.source,
            "env": setting.env,
            "description": setting.description,
            "error": setting.error,
        }
        for setting in section.values
    }


def _row(setting: Setting) -> tuple[str, str, str]:
    value = setting.shown()
    shown = "-" if value is None else repr(value) if isinstance(value, str) else str(value)
    return f"{'!' if setting.error else ' '} {setting.name}", f"= {shown}", f"({setting.source})"


def _unclaimed(settings: Settings, claimed: set[str]) -> list[str]:
    """Sections in files that no installed plugin reads, often a misspelt name."""
    return [
        f"{layer.source} has a section [{name}] that no installed plugin reads."
        for layer in settings.layers
        for name in layer.values
        if name not in claimed
    ]
