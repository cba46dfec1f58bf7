"""The package of a new plugin, from the templates."""

from __future__ import annotations

import keyword
import tempfile
from importlib.resources import files
from pathlib import Path
from string import Template

from glados.core import InvalidInput, installed
from glados.core.plugins import PLUGIN_ID
from glados.core.settings import RESERVED_SECTIONS

# Distributions and plugins of glados itself, whether they are installed here or not.
OWN = frozenset(
    {"agent", "agentic-fetch", "conversations", "core", "database", "mcp", "skills", "web-fetch", "web-search"}
)
LAYOUT = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    ".gitignore": "gitignore.tmpl",
    "src/$module/__init__.py": "init.py.tmpl",
    "src/$module/py.typed": "",
    "src/$module/plugin.py": "plugin.py.tmpl",
    "src/$module/service.py": "service.py.tmpl",
    "src/$module/settings.py": "settings.py.tmpl",
    "src/$module/tools.py": "tools.py.tmpl",
    "tests/test_$section.py": "test_plugin.py.tmpl",
}


def check_name(name: str) -> None:
    """Refuse a name that could not become a plugin's id, with a name that could."""
    if not PLUGIN_ID.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is no plugin name: use lower-case letters, digits and single hyphens, such as 'my-weather'.",
            name=name,
        )
    if name.startswith("glados-"):
        raise InvalidInput(f"{name!r} would become 'glados-{name}': leave 'glados-' away.", name=name)
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise InvalidInput(f"{name!r} is a word of Python itself: choose another name.", name=name)
    if name in OWN or name.partition("-")[0] in RESERVED_SECTIONS:
        raise InvalidInput(f"{name!r} belongs to glados itself: choose another name.", name=name)
    taken = next((candidate for candidate in installed() if candidate.id == name), None)
    if taken is not None:
        raise InvalidInput(f"{name!r} is the id of a plugin of {taken.distribution}: choose another name.", name=name)


def write_package(folder: Path, name: str) -> None:
    """Fill in the templates beside the folder's place and move them there whole."""
    words = [part.capitalize() for part in name.split("-")]
    section = name.replace("-", "_")
    values = {
        "id": name,
        "section": section,
        "variable": section.upper(),
        "module": f"glados_{section}",
        "distribution": f"glados-{name}",
        "plugin": f"{''.join(words)}Plugin",
        "service": f"{''.join(words)}Service",
        "settings": f"{''.join(words)}Settings",
    }
    templates = files("glados.server") / "templates" / "plugin"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as draft:
        whole = Path(draft) / folder.name
        for target, template in LAYOUT.items():
            text = (templates / template).read_text(encoding="utf-8") if template else ""
            file = whole / Template(target).substitute(values)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(Template(text).substitute(values), encoding="utf-8")
        whole.rename(folder)
