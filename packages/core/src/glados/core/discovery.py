"""Which plugins there are, which of them can start, and in which order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import pluggy
from pydantic import BaseModel, ConfigDict, Field

from glados.core import foreign, hookspecs
from glados.core.errors import ConfigurationError, GladosError, InvalidSetting, PluginError
from glados.core.plugins import Plugin, PluginRecord, check_class, register
from glados.core.settings import RESERVED_SECTIONS, Section, Settings, env_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger("glados.plugins")
ENTRY_POINTS = "glados"
NO_SECTIONS: Mapping[str, type[BaseModel]] = MappingProxyType({})


class PluginsSettings(BaseModel):
    """How plugins are found and how long they may take."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

    timeout: float = Field(default=10.0, gt=0, le=600, description="Seconds that an import or a hook may take.")
    strict: bool = Field(default=False, description="Refuse to start when a plugin fails, instead of going on without.")
    load: list[str] | None = Field(default=None, description="Load only these plugins, by id; by default all of them.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin that may be loaded: nothing of it is imported yet."""

    id: str
    load: Callable[[], Any]
    version: str | None = None
    distribution: str | None = None


@dataclass(slots=True)
class Discovery:
    """Every plugin with its record; `plugins` are those that can be started, in order, with their settings."""

    records: list[PluginRecord] = field(default_factory=list[PluginRecord])
    plugins: list[Plugin[Any]] = field(default_factory=list[Plugin[Any]])

    def record(self, id: str) -> PluginRecord:
        """The record of a plugin that was discovered; of two with one id, the first."""
        return next(record for record in self.records if record.id == id)


def installed() -> list[Candidate]:
    """The plugins that installed distributions name in the entry-point group `glados`."""
    found = [
        Candidate(
            point.name, point.load, point.dist.version if point.dist else None, point.dist.name if point.dist else None
        )
        for point in _entry_points()
    ]
    return sorted(found, key=lambda candidate: (candidate.id, candidate.distribution or ""))


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import distributions, entry_points

    try:
        return entry_points(group=ENTRY_POINTS)
    except Exception:  # one distribution whose file cannot be read must not hide those of all the others
        points: dict[str, EntryPoint] = {}
        for distribution in distributions():
            try:
                for point in distribution.entry_points.select(group=ENTRY_POINTS):
                    points.setdefault(f"{distribution.name} {point.name}", point)
            except Exception as error:
                log.warning("the entry points of %s cannot be read: %s", distribution.name, error)
        return points.values()


def given(classes: Sequence[type[Plugin[Any]]]) -> list[Candidate]:
    """Plugins that a program passes itself, instead of entry points."""
    return [Candidate(str(getattr(cls, "id", None) or repr(cls)), lambda cls=cls: cls) for cls in classes]


def discover(
    candidates: Iterable[Candidate], settings: Settings, own: Mapping[str, type[BaseModel]] = NO_SECTIONS
) -> Discovery:
    """Import, check, configure and order plugins; a wrong setting raises, every other fault costs its plugin alone.

    `own` are sections of glados itself: what is wrong there is told together with what is wrong for the plugins.
    """
    sections = [settings.section(name, model) for name, model in own.items()]
    wrong = [error for section in sections if (error := _fault(section))]
    options = settings.section("plugins", PluginsSettings)
    if error := _fault(options):
        raise _together([*wrong, error])
    return _discover(candidates, settings, options.load(), wrong)


def _discover(
    candidates: Iterable[Candidate], settings: Settings, options: PluginsSettings, wrong: list[InvalidSetting]
) -> Discovery:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    found, loaded = Discovery(), dict[str, Plugin[Any]]()
    claims: dict[str, str] = {}
    seen: dict[str, PluginRecord] = {}
    for candidate in candidates:
        record = PluginRecord(candidate.id, candidate.version, candidate.distribution)
        found.records.append(record)
        try:
            first = seen.setdefault(candidate.id, record)
            if _switched_off(record, settings, options):
                continue
            if first is not record:
                raise PluginError(f"Two plugins have the id {candidate.id!r}; the other one is {_origin(first)}.")
            plugin = _load(candidate, manager, options.timeout)
            record.requires = plugin.needs()
            _claim(plugin, claims)
            _configure(plugin, settings, options.timeout)
            loaded[candidate.id] = plugin
        except InvalidSetting as error:
            wrong.append(error)
        except GladosError as error:
            record.fail(error.message)
    if wrong:
        raise _together(wrong)
    if missing := [id for id in options.load or () if id not in seen]:
        raise ConfigurationError(
            f"PLUGINS_LOAD names {', '.join(map(repr, missing))}, which is not installed:"
            f" there are {', '.join(seen) or 'none'}."
        )
    found.plugins = _in_order(loaded, found)
    return found


def _fault(section: Section[Any]) -> InvalidSetting | None:
    try:
        section.load()
    except InvalidSetting as error:
        return error
    return None


def _together(errors: Sequence[InvalidSetting]) -> InvalidSetting:
    """Several errors as one, so that a person sees every wrong value at once."""
    names = [name for error in errors for name in cast("list[str]", error.data.get("settings", []))]
    return InvalidSetting(" ".join(error.message for error in errors), settings=names)


def _origin(record: PluginRecord) -> str:
    return f"of {record.distribution} {record.version}" if record.distribution else "listed before it"


def _switched_off(record: PluginRecord, settings: Settings, options: PluginsSettings) -> bool:
    """Whether it is switched off; such a plugin is never imported."""
    section = record.id.replace("-", "_")
    enabled, source = settings.enabled(section)
    if not enabled:
        record.state, record.reason = "disabled", f"switched off by {source}"
    elif options.load is not None and record.id not in options.load:
        record.state, record.reason = "disabled", "not named in PLUGINS_LOAD"
    return record.state == "disabled"


def _load(candidate: Candidate, manager: pluggy.PluginManager, timeout: float) -> Plugin[Any]:
    try:
        cls = check_class(candidate.id, foreign.load(f"The import of plugin {candidate.id!r}", candidate.load, timeout))
        plugin = foreign.load(f"The constructor of plugin {candidate.id!r}", cls, timeout)
        foreign.load(f"The class of plugin {candidate.id!r}", lambda: register(manager, plugin), timeout)
    except InvalidSetting as error:  # raised by the plugin itself: none of its settings was read yet
        raise PluginError(error.message) from error
    return plugin


def _configure(plugin: Plugin[Any], settings: Settings, timeout: float) -> None:
    """Read its settings; their validators are code of the plugin."""
    section = foreign.load(
        f"Reading the settings of plugin {plugin.id!r}",
        lambda: settings.section(plugin.section(), plugin.settings_model),
        timeout,
    )
    plugin.settings = section.load()


def _claim(plugin: Plugin[Any], claims: dict[str, str]) -> None:
    """Give a plugin its section and its variables; whoever comes second fails."""
    section = plugin.section()
    if section in RESERVED_SECTIONS:
        raise PluginError(f"The section [{section}] belongs to glados itself: choose another id.")
    names = env_names(section, plugin.settings_model)
    for name in names:
        if name in claims:
            raise PluginError(f"It claims the variable {name}, which belongs to plugin {claims[name]!r}.")
        if (first := name.partition("_")[0].lower()) in RESERVED_SECTIONS:
            raise PluginError(
                f"It claims the variable {name}, which belongs to the section [{first}] of glados itself."
            )
    claims.update(dict.fromkeys(names, plugin.id))


def _in_order(loaded: dict[str, Plugin[Any]], found: Discovery) -> list[Plugin[Any]]:
    """Those that can start, each behind what it requires and follows; the others are listed with the reason."""
    for cycle in _cycles(loaded):
        chain = " → ".join((*cycle, cycle[0]))
        for id in cycle:
            loaded.pop(id, None)
            found.record(id).fail(f"Its requirements go in a circle: {chain}.")
    ordered: dict[str, Plugin[Any]] = {}

    def place(plugin: Plugin[Any]) -> bool:
        if plugin.id in ordered:
            return True
        for id in plugin.needs():
            if id not in loaded or not place(loaded[id]):
                found.record(plugin.id).fail(missing_requirement(id, found))
                loaded.pop(plugin.id, None)
                return False
        for id in plugin.after:
            if id in loaded:
                place(loaded[id])
        ordered[plugin.id] = plugin
        return True

    for plugin in list(loaded.values()):
        if plugin.id in loaded:
            place(plugin)
    return list(ordered.values())


def missing_requirement(id: str, found: Discovery) -> str:
    """Why a plugin that requires another one cannot start."""
    state = next((record.state for record in found.records if record.id == id), None)
    if state is None:
        return f"It requires the plugin {id!r}, which is not installed."
    return f"It requires the plugin {id!r}, which {'is disabled' if state == 'disabled' else 'failed'}."


def _cycles(loaded: dict[str, Plugin[Any]]) -> list[list[str]]:
    """Every circle in `requires` and `after`, as the ids along it."""
    cycles: list[list[str]] = []
    done: set[str] = set()

    def walk(id: str, path: list[str]) -> None:
        if id in path:
            cycles.append(path[path.index(id) :])
            return
        if id in done or id not in loaded:
            return
        for other in (*loaded[id].needs(), *loaded[id].after):
            walk(other, [*path, id])
        done.add(id)

    for id in loaded:
        walk(id, [])
    return cycles
