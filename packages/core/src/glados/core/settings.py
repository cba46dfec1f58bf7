"""A plugin's section from ordered layers and plain environment names, every value with where it came from."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from glados.core.complaints import HIDDEN, said, shortened, wrong_value
from glados.core.errors import InvalidSetting, MissingSetting

M = TypeVar("M", bound=BaseModel)

RESERVED_SECTIONS = frozenset({"model", "server", "permissions", "plugins", "openai", "glados", "artifacts"})
DEFAULT = "default"
ENVIRONMENT = "environment variable "
PASSED = "App.open(settings=…)"
_SECRETS = (SecretStr, SecretBytes, Secret)


class NoSettings(BaseModel):
    """The settings of a plugin that has none."""


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
    fault: str | None = None

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
        sentences = dict.fromkeys(str(setting.error) for setting in told)  # one may be about several values
        raise error(" ".join(sentences) or str(self.fault), settings=[f"{self.name}.{s.name}" for s in told])


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
        faults: dict[str, ErrorDetails] = {}
        try:
            values = {key: value for key, (value, _) in given.items()}
            instance = model.model_validate(values, by_name=True, by_alias=False)
        except ValidationError as error:
            instance = None
            for item in error.errors(include_url=False):
                faults.setdefault(str(item["loc"][0]) if item["loc"] else "", item)
        together = _together(name, model, given, faults.get(""))
        read = [_setting(name, *field, given, instance, faults, together) for field in model.model_fields.items()]
        read += [_unknown(name, model, field, given[field][1]) for field in given if field not in model.model_fields]
        if any(setting.error for setting in read):
            instance = None
        return Section(name, model, tuple(read), instance, together)

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
            for field, value in _table(layer.values, name, layer.source).items():
                given[field] = (value, layer.source)
        for field, info in model.model_fields.items():
            text = self.environ.get(env_name(name, field))
            if text:  # an empty variable counts as not set, as shells and compose files leave them
                given[field] = (_from_text(text, info.annotation), f"{ENVIRONMENT}{env_name(name, field)}")
        for field, value in _table(self.overrides, name, PASSED).items():
            given[field] = (value, PASSED)
        if model is _Switch:
            return {field: pair for field, pair in given.items() if field == "enabled"}
        if "enabled" not in model.model_fields:
            given.pop("enabled", None)
        return given


class _Switch(BaseModel):
    """The one field that every plugin's section has besides its own."""

    enabled: bool = Field(default=True, description="Whether the plugin is loaded.")


def env_name(section: str, field: str) -> str:
    """The plain environment variable of a field: `web_fetch`, `max_characters` → `WEB_FETCH_MAX_CHARACTERS`."""
    return f"{section}_{field}".upper()


def env_names(section: str, model: type[BaseModel]) -> list[str]:
    """Every variable that a section claims, its switch included."""
    return [env_name(section, field) for field in ("enabled", *model.model_fields)]


def _table(values: Mapping[str, Any], section: str, source: str) -> Mapping[str, Any]:
    table = values.get(section, {})
    if not isinstance(table, Mapping):
        raise InvalidSetting(
            f"{section} in {source} is {shortened(table)}, which is not allowed: give a table [{section}].",
            settings=[section],
        )
    return cast("Mapping[str, Any]", table)


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that a field may have, without Optional, Annotated and what stands in brackets."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType, Annotated):
        for inner in get_args(annotation)[: 1 if origin is Annotated else None]:
            yield from _kinds(inner)
    else:
        yield origin or annotation


def _from_text(text: str, annotation: Any) -> Any:
    """Lists are comma-separated or JSON, tables are JSON; pydantic converts everything else from its text."""
    kinds: list[type[Any]] = [kind for kind in _kinds(annotation) if isinstance(kind, type)]
    stripped = text.strip()
    if any(issubclass(kind, list | tuple | AbstractSet) or kind is Sequence for kind in kinds):
        if not stripped.startswith("["):
            return [item.strip() for item in stripped.split(",") if item.strip()]
    elif not any(issubclass(kind, Mapping | BaseModel) or is_dataclass(kind) for kind in kinds):
        return text if any(issubclass(kind, (str, bytes, *_SECRETS)) for kind in kinds) else stripped
    try:
        return json.loads(stripped)
    except ValueError:
        return text


def _is_secret(annotation: Any, seen: tuple[Any, ...] = ()) -> bool:
    """Whether a secret is in it, at whatever depth."""
    if annotation in seen or annotation is None:
        return False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return any(_is_secret(info.annotation, (*seen, annotation)) for info in annotation.model_fields.values())
    secret = isinstance(annotation, type) and issubclass(annotation, _SECRETS)
    return secret or any(_is_secret(inner, seen) for inner in (get_origin(annotation), *get_args(annotation)))


def _together(
    section: str, model: type[BaseModel], given: dict[str, tuple[Any, str]], fault: ErrorDetails | None
) -> str | None:
    """The complaint about values that do not go together, by a validator of the whole model."""
    if fault is None:
        return None
    named = [
        f"{field} = {HIDDEN if _is_secret(model.model_fields[field].annotation) else shortened(value)} ({source})"
        for field, (value, source) in given.items()
        if field in model.model_fields
    ]
    if not named:
        return f"[{section}] needs settings: {said(fault)}. Set {' or '.join(env_names(section, model)[1:])}."
    return f"[{section}] with {', '.join(named)} is not allowed: {said(fault)}."


def _setting(
    section: str,
    field: str,
    info: FieldInfo,
    given: dict[str, tuple[Any, str]],
    instance: BaseModel | None,
    faults: Mapping[str, ErrorDetails],
    together: str | None,
) -> Setting:
    value, source = given.get(field, (None, DEFAULT))
    secret, env, error = _is_secret(info.annotation), env_name(section, field), None
    if instance is not None:
        value = getattr(instance, field)
    elif field not in given and not info.is_required():
        value = info.get_default(call_default_factory=True, validated_data={})
    if field in faults:
        if source == DEFAULT and info.is_required():
            about = f" ({info.description.rstrip('.')})" if info.description else ""
            error = f"{section}.{field} is required{about}: set {env}, or {field} in section [{section}]."
        else:
            where = f"The default of {section}.{field}" if source == DEFAULT else f"{section}.{field} in {source}"
            what = env if source.startswith(ENVIRONMENT) else where
            error = wrong_value(what, info, value, faults[field], secret=secret)
    elif field in given:
        error = together
    if secret and instance is None and value is not None:
        value = SecretStr(str(value))
    return Setting(field, env, value, source, info.description or "", error, secret, info.is_required())


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
