"""What a plugin is, and how it is checked before any of its hooks is called."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, cast

import pluggy
from pydantic import BaseModel
from typing_extensions import TypeVar

from glados.core import hookspecs
from glados.core.errors import PluginError
from glados.core.sessions import Session
from glados.core.settings import NoSettings
from glados.core.tools import Tool

S = TypeVar("S", bound=BaseModel, default=NoSettings)

PLUGIN_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
HOOKS = tuple(name for name in vars(hookspecs) if hasattr(getattr(hookspecs, name), f"{hookspecs.PROJECT}_spec"))


class Plugin(Generic[S]):
    """The base of every plugin: an id, what it needs, its settings, and hooks marked with `@hookimpl`."""

    id: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    after: ClassVar[tuple[str, ...]] = ()
    migrations: ClassVar[str | None] = None
    settings_model: ClassVar[type[BaseModel]] = NoSettings

    settings: S

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for parent in getattr(cls, "__orig_bases__", ()):
            for argument in getattr(parent, "__args__", ()):
                if isinstance(argument, type) and issubclass(argument, BaseModel):
                    cls.settings_model = argument

    @classmethod
    def section(cls) -> str:
        """The name of its settings' section and the beginning of its tables' names."""
        return cls.id.replace("-", "_")

    @classmethod
    def needs(cls) -> tuple[str, ...]:
        """The ids that it requires; a plugin with migrations requires the database."""
        if cls.migrations is None or "database" in cls.requires:
            return cls.requires
        return (*cls.requires, "database")

    @classmethod
    def migrations_path(cls) -> Path:
        """The folder of its migrations, inside its package."""
        file = sys.modules[cls.__module__].__file__
        if cls.migrations is None or file is None:
            raise PluginError(f"Plugin {cls.id!r} declares no migrations.")
        return Path(file).parent / cls.migrations


@dataclass(slots=True)
class Prepare:
    """What plugins contribute to a run, a listing or a call: they append to `tools` and `context`."""

    purpose: Literal["run", "list", "call"]
    session: Session | None = None
    tools: list[Tool] = field(default_factory=list["Tool"])
    context: list[str] = field(default_factory=list[str])
    items: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"], repr=False)  # the host's: by plugin


@dataclass(slots=True)
class PluginRecord:
    """What listings say of one plugin."""

    id: str
    version: str | None = None
    distribution: str | None = None
    state: Literal["enabled", "disabled", "failed"] = "enabled"
    reason: str | None = None
    requires: tuple[str, ...] = ()

    def fail(self, reason: str) -> None:
        """List it as failed, with the reason."""
        self.state, self.reason = "failed", reason

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON."""
        return {
            "id": self.id,
            "version": self.version,
            "distribution": self.distribution,
            "state": self.state,
            "reason": self.reason,
            "requires": list(self.requires),
        }


def check_class(id: str, candidate: Any) -> type[Plugin[Any]]:
    """What an entry point named, if it is a plugin of that id."""
    if not (isinstance(candidate, type) and issubclass(candidate, Plugin)):
        raise PluginError(f"Its entry point names {candidate!r}, which is no subclass of glados.core.Plugin.")
    plugin = cast("type[Plugin[Any]]", candidate)
    own = getattr(plugin, "id", None)
    if own is None:
        raise PluginError(f"{plugin.__name__} has no id: write one in the class.")
    if own != id:
        raise PluginError(f"Its entry point is named {id!r}, but {plugin.__name__}.id is {own!r}: make them equal.")
    if not PLUGIN_ID.fullmatch(id):
        raise PluginError(f"{id!r} is no plugin id: use lower-case letters, digits and single hyphens.")
    for name in ("requires", "after"):
        value = getattr(plugin, name)
        items = cast("tuple[object, ...] | list[object]", value) if isinstance(value, tuple | list) else (None,)
        if not all(isinstance(item, str) for item in items):
            raise PluginError(f"{plugin.__name__}.{name} is {value!r}: write a tuple of plugin ids.")
    if not isinstance(cast("object", plugin.migrations), str | None):
        raise PluginError(f"{plugin.__name__}.migrations is {plugin.migrations!r}: write the name of a folder.")
    return plugin


def register(manager: pluggy.PluginManager, plugin: Plugin[Any]) -> None:
    """Let pluggy check the hooks of a plugin; one with a fault is not registered and the fault is named."""
    _check_marks(type(plugin))
    try:
        manager.register(plugin, name=plugin.id)
        manager.check_pending()
        for caller in manager.get_hookcallers(plugin) or []:
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin:
                    _check_options(caller.name, implementation)
    except pluggy.PluginValidationError as error:
        manager.unregister(name=plugin.id)
        raise PluginError(_told(error, type(plugin))) from None
    except PluginError:
        manager.unregister(name=plugin.id)
        raise


def hook(plugin: Plugin[Any], name: str) -> Any | None:
    """The plugin's implementation of a hook, if it has one."""
    function = getattr(type(plugin), name, None)
    return getattr(plugin, name) if function is not None and _marked(function) else None


def _marked(function: Any) -> bool:
    return hasattr(function, f"{hookspecs.PROJECT}_impl")


def _check_marks(plugin: type[Plugin[Any]]) -> None:
    for name in HOOKS:
        function = getattr(plugin, name, None)
        if function is not None and not _marked(function):
            raise PluginError(f"{plugin.__name__}.{name} is not marked: write @hookimpl above it.")


def _check_options(name: str, implementation: pluggy.HookImpl) -> None:
    if implementation.hookwrapper or implementation.wrapper:
        raise PluginError(f"Hook {name!r} is a wrapper: hook wrappers are not supported.")
    if implementation.tryfirst or implementation.trylast:
        raise PluginError(f"Hook {name!r} has tryfirst or trylast: order comes from `requires` and `after` alone.")
    if implementation.opts.get("specname"):
        raise PluginError(f"Hook {name!r} is a method of another name: name it {name!r}, without specname.")
    if inspect.isgeneratorfunction(implementation.function) or inspect.isasyncgenfunction(implementation.function):
        raise PluginError(f"Hook {name!r} has a yield: provide an @asynccontextmanager for what has to be closed.")


def _told(error: pluggy.PluginValidationError, plugin: type[Plugin[Any]]) -> str:
    """The complaint of pluggy in one sentence that names the misspelt hook or argument."""
    for name, function in inspect.getmembers(plugin, inspect.isfunction):
        if not _marked(function):
            continue
        if name not in HOOKS:
            near = difflib.get_close_matches(name, HOOKS, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(HOOKS)}."
            return f"{plugin.__name__} implements the unknown hook {name!r}: {meant}"
        wanted = list(inspect.signature(getattr(hookspecs, name)).parameters)
        given = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
        if not set(given) <= set(wanted):
            return f"{plugin.__name__}.{name} takes {', '.join(given)}: a hook {name!r} takes {', '.join(wanted)}."
    return " ".join(str(error).split())
