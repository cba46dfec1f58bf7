"""A plugin's section from ordered layers and plain environment names, every value with where it came from."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from glados.core.errors import InvalidSetting, MissingSetting

M = TypeVar("M", bound=BaseModel)

RESERVED_SECTIONS = frozenset({"model", "server", "permissions", "plugins", "openai", "glados"})
DEFAULT = "default"
HIDDEN = "**********"


class NoSettings(BaseModel):
    """The settings of a plugin that has none."""


class GladosSettings(BaseModel):
    """Where glados keeps its data and how much it says."""

    model_config = ConfigDict(validate_default=True)

    data_dir: Path = Field(
        default=Path(),
        description="The folder of the database and the token; by default the platform's folder for user data.",
    )
    log_level: str = Field(
        default="info",
        pattern="^(debug|info|warning|error)$",
        description="How much the log says: debug, info, warning or error.",
    )

    def model_post_init(self, context: Any) -> None:
        """Fill in the platform's folder, which costs an import that most programs need only here."""
        if self.data_dir == Path():
            from platformdirs import user_data_path

            self.data_dir = user_data_path("glados")
        self.data_dir = self.data_dir.expanduser().absolute()


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place, by section and field: a file, or what a program passed."""

    source: str
    values: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One effective value and where it came from; `error` says why it is wrong, if it is."""

    name: str
    env: str
    value: Any
    source: str
    description: str = ""
    error: str | None = None
    secret: bool = False
    required: bool = False

    def shown(self) -> Any:
        """The value as it may be printed."""
        if self.value is None:
            return None
        if self.secret:
            return HIDDEN
        return self.value if isinstance(self.value, str | int | float | bool) else _plain(self.value)


@dataclass(frozen=True, slots=True)
class Section(Generic[M]):
    """The settings of one section, read but perhaps not right."""

    name: str
    model: type[M]
    values: tuple[Setting, ...]
    instance: M | None

    @property
    def errors(self) -> tuple[Setting, ...]:
        """The values that are wrong or missing."""
        return tuple(setting for setting in self.values if setting.error)

    def load(self) -> M:
        """The settings model, or an error that names every value that is wrong."""
        if self.instance is not None:
            return self.instance
        wrong = [s for s in self.errors if s.source != DEFAULT]
        error = InvalidSetting if wrong else MissingSetting
        told = wrong or self.errors
        raise error(" ".join(str(setting.error) for setting in told), settings=[f"{self.name}.{s.name}" for s in told])


class Settings:
    """The stack of layers: files, then the environment, then what the program passed."""

    def __init__(
        self,
        layers: Sequence[Layer] = (),
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.layers = tuple(layers)
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.overrides: Mapping[str, Mapping[str, Any]] = overrides or {}

    def section(self, name: str, model: type[M]) -> Section[M]:
        """Merge one section field by field and convert it with its model."""
        given = self._given(name, model)
        try:
            instance, errors = model.model_validate({key: value for key, (value, _) in given.items()}), {}
        except ValidationError as error:
            instance, errors = None, _messages(error)
        values = [_setting(name, field, info, given, instance, errors) for field, info in model.model_fields.items()]
        values += [
            _unknown(name, model, field, source) for field, (_, source) in given.items() if not _has(model, field)
        ]
        if any(setting.error for setting in values):
            instance = None
        return Section(name, model, tuple(values), instance)

    def enabled(self, name: str) -> tuple[bool, str]:
        """Whether a plugin's section is switched on, and what says so."""
        section = self.section(name, _Switch)
        switch = section.values[0]
        if switch.error:
            raise InvalidSetting(switch.error, settings=[f"{name}.enabled"])
        return bool(switch.value), switch.source

    def _given(self, name: str, model: type[BaseModel]) -> dict[str, tuple[Any, str]]:
        """What somebody gave, by field, with the last source that gave it."""
        given: dict[str, tuple[Any, str]] = {}
        for layer in self.layers:
            for field, value in layer.values.get(name, {}).items():
                given[field] = (value, layer.source)
        for field, info in model.model_fields.items():
            text = self.environ.get(env_name(name, field))
            if text:  # an empty variable counts as not set, as shells and compose files leave them
                given[field] = (_from_text(text, info.annotation), f"environment variable {env_name(name, field)}")
        for field, value in self.overrides.get(name, {}).items():
            given[field] = (value, "App.open(settings=…)")
        if model is not _Switch:
            given.pop("enabled", None) if "enabled" not in model.model_fields else None
            return given
        return {field: pair for field, pair in given.items() if field == "enabled"}


class _Switch(BaseModel):
    """The one field that every plugin's section has besides its own."""

    enabled: bool = Field(default=True, description="Whether the plugin is loaded.")


def env_name(section: str, field: str) -> str:
    """The plain environment variable of a field: `web_fetch`, `max_characters` → `WEB_FETCH_MAX_CHARACTERS`."""
    return f"{section}_{field}".upper()


def env_names(section: str, model: type[BaseModel]) -> list[str]:
    """Every variable that a section claims, its switch included."""
    return [env_name(section, field) for field in ("enabled", *model.model_fields)]


def _has(model: type[BaseModel], field: str) -> bool:
    return field in model.model_fields


def _from_text(text: str, annotation: Any) -> Any:
    """Lists are comma-separated or JSON, tables are JSON; pydantic converts everything else from its text."""
    kinds = {get_origin(kind) or kind for kind in (annotation, *get_args(annotation))}
    stripped = text.strip()
    if kinds & {list, tuple, set, frozenset}:
        if not stripped.startswith("["):
            return [item.strip() for item in stripped.split(",") if item.strip()]
    elif not any(kind is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)) for kind in kinds):
        return text
    try:
        return json.loads(stripped)
    except ValueError:
        return text


def _messages(error: ValidationError) -> dict[str, str]:
    """What pydantic says of each field."""
    messages: dict[str, str] = {}
    for item in error.errors(include_url=False):
        field = str(item["loc"][0]) if item["loc"] else ""
        text = item["msg"].removeprefix("Value error, ")
        inner = ".".join(str(part) for part in item["loc"][1:])
        messages.setdefault(field, f"{inner}: {text}" if inner else text)
    return messages


def _setting(
    section: str,
    field: str,
    info: FieldInfo,
    given: dict[str, tuple[Any, str]],
    instance: BaseModel | None,
    errors: dict[str, str],
) -> Setting:
    value, source = given.get(field, (None, DEFAULT))
    secret = SecretStr in (info.annotation, *get_args(info.annotation))
    if instance is not None:
        value = getattr(instance, field)
    elif field not in given and not info.is_required():
        value = info.get_default(call_default_factory=True, validated_data={})
    env, error = env_name(section, field), None
    if field in errors:
        error = _complaint(section, field, info, value, source, errors[field], secret=secret)
    return Setting(field, env, value, source, info.description or "", error, secret, info.is_required())


def _complaint(
    section: str, field: str, info: FieldInfo, value: Any, source: str, message: str, *, secret: bool
) -> str:
    env = env_name(section, field)
    if source == DEFAULT:
        about = f" ({info.description.rstrip('.')})" if info.description else ""
        return f"{section}.{field} is required{about}: set {env}, or {field} in section [{section}]."
    what = env if source.startswith("environment") else f"{section}.{field} in {source}"
    shown = HIDDEN if secret else repr(value)
    message = message[:1].lower() + message[1:]
    return f"{what} is {shown}, which is not allowed: {message}."


def _unknown(section: str, model: type[BaseModel], field: str, source: str) -> Setting:
    near = difflib.get_close_matches(field, model.model_fields, 1)
    meant = f" Did you mean {near[0]!r}?" if near else f" It has: {', '.join(model.model_fields) or 'no settings'}."
    error = f"{section}.{field} in {source} is not a setting of [{section}].{meant}"
    return Setting(field, env_name(section, field), None, source, error=error)


def _plain(value: Any) -> Any:
    """A value of any type as JSON would show it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
