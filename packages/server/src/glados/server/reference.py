"""Every setting with its default and description, as a settings file and as a page.

`python -m glados.server.reference DIR` writes `config/settings.toml` and `docs/settings.md` below DIR, for the
plugins that glados itself brings.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from glados.core import Settings, installed
from glados.core.settings import env_name
from glados.server.sections import SectionModel, all_sections

TOML_FILE = Path("config", "settings.toml")
MARKDOWN_FILE = Path("docs", "settings.md")

_TOML_HEAD = """\
# Every setting of glados and its built-in plugins, with its default.
# Take away the '#' before a line to change it. Each setting is also the environment variable beside it, which wins.
"""
_MARKDOWN_HEAD = """\
# Settings

Later sources win, setting by setting: the defaults, your own file (`settings.toml` in the folder `glados` of the
platform's config directory), the file named by `--config` or `GLADOS_CONFIG`, the environment. Nothing is read from the
working directory by itself.

A section of a file is a table, such as `[server]`; each setting is also the environment variable beside it. Lists in
variables are separated by commas, or JSON. An empty variable counts as not set. `glados config` shows every effective
value and where it came from.
"""


def toml(sections: Sequence[SectionModel]) -> str:
    """A settings file in which everything is commented out."""
    return "\n".join([_TOML_HEAD, *(_toml_section(section) for section in sections)])


def markdown(sections: Sequence[SectionModel]) -> str:
    """A page with one table a section."""
    return "\n".join([_MARKDOWN_HEAD, *(_markdown_section(section) for section in sections)])


def built_in_sections() -> list[SectionModel]:
    """The sections of glados itself and of the plugins that it brings, whatever else is installed."""
    candidates = [candidate for candidate in installed() if _is_built_in(candidate.distribution)]
    found = all_sections(Settings(environ={}), candidates)
    return [section for section in found if isinstance(section, SectionModel)]


def write(folder: Path) -> None:
    """Write both files below a folder, usually a checkout."""
    sections = built_in_sections()
    for path, text in ((TOML_FILE, toml(sections)), (MARKDOWN_FILE, markdown(sections))):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _is_built_in(distribution: str | None) -> bool:
    from importlib.metadata import requires

    return distribution in {requirement.partition(";")[0].strip() for requirement in requires("glados-agent") or ()}


def _fields(section: SectionModel) -> Iterator[tuple[str, str, str, str]]:
    """Name, variable, default as TOML and description of each field, the switch of a plugin first."""
    if section.plugin is not None:
        yield "enabled", env_name(section.name, "enabled"), "true", "Whether the plugin is loaded."
    for name, info in section.model.model_fields.items():
        yield name, env_name(section.name, name), _default(info), info.description or ""


def _default(info: FieldInfo) -> str:
    """The default as TOML would write it; empty where there is none."""
    if info.is_required():
        return ""
    value = info.get_default(call_default_factory=True, validated_data={})
    depends_on_the_machine = isinstance(value, Path) and info.default_factory is not None
    return "" if value is None or depends_on_the_machine else _toml_value(value)


def _toml_value(value: Any) -> str:
    if isinstance(value, SecretStr):
        return '"…"'
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {_toml_value(item)}" for key, item in items) + " }"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(map(_toml_value, cast("Sequence[Any]", value))) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False)


def _toml_section(section: SectionModel) -> str:
    lines = [f"[{section.name}]"]
    for name, variable, default, description in _fields(section):
        lines += [f"# {description} ({variable})", f"# {name} = {default or '…  (no default)'}"]
    return "\n".join(lines) + "\n"


def _markdown_section(section: SectionModel) -> str:
    title = f"## [{section.name}]" + (f" (plugin `{section.plugin}`)" if section.plugin else "")
    rows = [
        f"| `{name}` | `{variable}` | {f'`{default}`' if default else ''} | {_cell(description)} |"
        for name, variable, default, description in _fields(section)
    ]
    doc = " ".join((section.model.__doc__ or "").split())
    return "\n".join([title, "", doc, "", "| setting | variable | default | meaning |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
