"""Every section of settings that there is: glados's own and those of the installed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from glados.core import (
    ArtifactsSettings,
    GladosError,
    GladosSettings,
    InvalidSetting,
    ModelSettings,
    OpenAISettings,
    PermissionsSettings,
    PluginsSettings,
    Settings,
    foreign,
    installed,
)
from glados.core.discovery import Candidate
from glados.core.plugins import check_class
from glados.server.settings import ServerSettings

IMPORT_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class SectionModel:
    """One section: its name, the model that reads it, and the plugin that it belongs to, if any."""

    name: str
    model: type[BaseModel]
    plugin: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A plugin whose section cannot be read: it is switched off, or its import fails."""

    name: str
    plugin: str
    reason: str
    failed: bool


OWN = (
    SectionModel("glados", GladosSettings),
    SectionModel("openai", OpenAISettings),
    SectionModel("model", ModelSettings),
    SectionModel("server", ServerSettings),
    SectionModel("permissions", PermissionsSettings),
    SectionModel("plugins", PluginsSettings),
    SectionModel("artifacts", ArtifactsSettings),
)


def all_sections(settings: Settings, candidates: Iterable[Candidate] | None = None) -> Iterator[SectionModel | Unread]:
    """The sections of glados itself, then those of the plugins by id; a disabled plugin is never imported."""
    yield from OWN
    for candidate in installed() if candidates is None else candidates:
        yield _section(candidate, settings)


def _section(candidate: Candidate, settings: Settings) -> SectionModel | Unread:
    name = candidate.id.replace("-", "_")
    try:
        enabled, source = settings.enabled(name)
        if not enabled:
            return Unread(name, candidate.id, f"switched off by {source}", failed=False)
        loaded = foreign.load(f"The import of plugin {candidate.id!r}", candidate.load, IMPORT_TIMEOUT)
        return SectionModel(name, check_class(candidate.id, loaded).settings_model, candidate.id)
    except GladosError as error:
        return Unread(name, candidate.id, error.message, failed=isinstance(error, InvalidSetting))
