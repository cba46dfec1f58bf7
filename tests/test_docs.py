"""What the documents show is true: code runs, commands exist, conversations look like that, links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from glados.core import Plugin, Services, ToolError, hookimpl, hookspecs
from glados.core.plugins import HOOKS
from glados.core.settings import env_names
from glados.core.testing import AppFactory
from glados.server.cli.root import root
from glados.server.cli.scaffold import LAYOUT, write_package
from glados.web_fetch import FetchResult, WebFetchSettings, errors
from glados.web_fetch.tools.fetch import FetchInput

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "packages/*/README.md", "examples/*/README.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|--) (?P<path>[\w./-]+\.(?:py|sql|toml))")
TYPED = re.compile(r"(?P<prompt>.*(?:\[n\]o|\[y\]es|you): ?)(?P<answer>\S.*)")
ID = re.compile(r"\b[0-9a-f]{8}(?:[0-9a-f]{24})?\b")  # whole, or as lists show it
TIME = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d\.\d{3}\+00:00)?")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
SETTINGS = '[pytest]\nanyio_mode = "auto"\nfilterwarnings = ["error"]\n'


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    document: Path
    language: str
    text: str


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(document: Path, *languages: str) -> Iterator[Block]:
    for match in FENCE.finditer(document.read_text(encoding="utf-8")):
        if match["language"] in languages:
            yield Block(document, match["language"], match["text"])


def write_files(document: Path, folder: Path) -> list[Path]:
    """Write every block whose first line names a file; a second block of a file goes on where the first one ended."""
    written: dict[Path, str] = {}
    for block in blocks(document, "python", "sql", "toml"):
        first, _, rest = block.text.partition("\n")
        if match := FILE.fullmatch(first):
            path = folder / match["path"]
            written[path] = f"{written[path]}\n\n{rest}" if path in written else rest
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(written)


def run_pytest(folder: Path) -> str:
    """Run the tests of a folder as its author would, with nothing of this run's settings."""
    path = os.pathsep.join([str(folder / "src"), str(folder)])
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GLADOS"))}
    done = subprocess.run(
        PYTEST, cwd=folder, env=environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_plugin_of_the_guide_works(tmp_path: Path) -> None:
    folder = tmp_path / "glados-weather"
    write_package(folder, "weather")
    written = write_files(ROOT / "docs" / "plugins.md", folder)
    assert len(written) >= 10
    assert "passed" in run_pytest(folder)


@pytest.mark.parametrize("document", ["README.md", "docs/hooks.md"])
def test_the_examples_work(document: str, tmp_path: Path) -> None:
    assert any(path.name.startswith("test_") for path in write_files(ROOT / document, tmp_path))
    (tmp_path / "pytest.toml").write_text(SETTINGS, encoding="utf-8")
    assert "passed" in run_pytest(tmp_path)


def test_the_guide_shows_the_files_of_a_new_package() -> None:
    guide = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^((?:src|tests)/\S+|pyproject\.toml) {2,}", guide, re.MULTILINE))
    made = {path.replace("$module", "glados_weather").replace("$section", "weather") for path in LAYOUT}
    assert shown
    assert shown <= made


async def test_the_failure_that_the_guide_shows_is_told_like_that(glados_app: AppFactory) -> None:
    class WeatherPlugin(Plugin):
        id = "weather"

        @hookimpl
        async def set_up(self, services: Services) -> None: ...

    app = await glados_app(plugins=[WeatherPlugin], settings={"plugins": {"strict": False}})
    reason = app.plugins[0].reason
    assert f"failed: {reason}\n" in (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def test_every_hook_is_documented_with_its_signature_and_an_example() -> None:
    text = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    assert list(sections) == list(HOOKS)
    for hook, section in sections.items():
        named = list(inspect.signature(getattr(hookspecs, hook)).parameters)
        typed, parameters = ", ".join(rf"{parameter}: \w+" for parameter in named), ", ".join(named)
        assert re.search(rf"^async def {hook}\(self, {typed}\) -> None$", section, re.MULTILINE)
        assert f"# hook_{hook}.py" in section
        assert f"[`{hook}({parameters})`](#{hook})" in text


def test_every_hook_is_used_by_a_plugin() -> None:
    """By one that is shipped or shown; either way it is tested."""
    sources = [*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("examples/*/src/**/*.py"), *ROOT.glob("docs/*.md")]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    for hook in HOOKS:
        assert any(re.search(rf"@hookimpl\n    (async )?def {hook}\(", text) for text in texts), f"nobody uses {hook}"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command that a document shows in a shell block, with the document's name."""
    for document in DOCUMENTS:
        for block in blocks(document, "sh", "console"):
            for line in block.text.splitlines():
                if block.language == "console":
                    if not line.startswith("$ "):
                        continue
                    line = line.removeprefix("$ ")
                words = shlex.split(line, comments=True)
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                    words.pop(0)
                if words:
                    yield name(document), words


def glados_command(words: list[str]) -> click.Command:
    """The command that the words call, as deep as they go."""
    command: click.Command = root
    ctx = click.Context(root)
    for word in words:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(ctx, word)
        assert found is not None, f"there is no command {word!r} in {words}"
        command = found
    return command


def test_every_command_of_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    seen: set[str] = set()
    for document, words in commands():
        seen.add(words[0])
        if words[0] == "make":
            named = {word for word in words[1:] if "=" not in word}
            assert named <= targets, f"{document}: {words}"
        if words[0] == "glados":
            command = glados_command([word for word in words[1:] if not word.startswith("-")])
            known = {option for parameter in command.params for option in parameter.opts}
            options = {word.partition("=")[0] for word in words[1:] if word.startswith("--")}
            assert options <= known | {"--help", "--version"}, f"{document}: {words}"
    assert {"make", "glados"} <= seen


def test_the_commands_named_in_texts_exist() -> None:
    known = set(root.list_commands(click.Context(root)))
    for document in DOCUMENTS:
        for named in re.findall(r"`glados ([a-z][a-z-]*)", document.read_text(encoding="utf-8")):
            assert named in known, f"{name(document)} names `glados {named}`"


@dataclass(frozen=True)
class Exchange:
    """A command of a conversation in a document, and what it printed there."""

    command: list[str]
    output: str

    @property
    def answers(self) -> list[tuple[str, str]]:
        """The prompts that ended in something typed, with what was typed."""
        found = (TYPED.fullmatch(line) for line in self.output.splitlines())
        return [(match["prompt"], match["answer"]) for match in found if match]


def conversation(document: Path) -> list[Exchange]:
    text = "".join(block.text for block in blocks(document, "console"))
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [Exchange(shlex.split(part.partition("\n")[0]), part.partition("\n")[2].strip()) for part in parts]


def replay(exchange: Exchange, environ: dict[str, str], cwd: Path) -> str:
    """Run a command on a terminal, answer its questions, and give what a person would have seen."""
    ours, theirs = pty.openpty()
    answers = exchange.answers
    seen = b""
    with subprocess.Popen(
        exchange.command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=cwd, start_new_session=True
    ) as process:
        os.close(theirs)
        while select.select([ours], [], [], 30)[0]:
            try:
                seen += os.read(ours, 4096)
            except OSError:
                break  # the other end is closed: the command has ended
            if answers and settled(answers[0][0]).strip() in settled(seen.decode(errors="replace")):
                os.write(ours, f"{answers.pop(0)[1]}\n".encode())
        else:
            process.kill()  # it waits for something that the document does not show
    os.close(ours)
    return seen.decode().replace("\r\n", "\n").strip()


def settled(text: str) -> str:
    """Text without what is new every time."""
    return TIME.sub("<time>", ID.sub("<id>", text))


@pytest.mark.parametrize("document", ["README.md", "docs/sessions.md"])
def test_the_conversations_of_the_documents_look_like_that(document: str, tmp_path: Path) -> None:
    exchanges = conversation(ROOT / document)
    assert exchanges
    ids: dict[str, str] = {}  # of the document, and what they are here
    environ: dict[str, Any] = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "GLADOS_DATA_DIR": str(tmp_path / "data"),
        "NO_COLOR": "1",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    for exchange in exchanges:
        command = [ids.get(word[:8], word) if ID.fullmatch(word) else word for word in exchange.command]
        seen = replay(Exchange(command, exchange.output), environ, tmp_path)
        assert settled(seen) == settled(exchange.output), shlex.join(exchange.command)
        ids |= {shown[:8]: here for shown, here in zip(ID.findall(exchange.output), ID.findall(seen), strict=True)}


def anchors(document: Path) -> set[str]:
    """The places in a document that a link can name."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document: Path) -> None:
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), f"{name(document)} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(file), f"{name(document)} links to {target}: there is no such heading"


def test_the_documents_speak_of_what_exists() -> None:
    """Paths in backticks that look like files of this tree are there."""
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for path in re.findall(r"`((?:packages|docs|tests|examples|config)/[\w./-]+)`", document.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{name(document)} names {path}"


def test_the_page_about_fetching_has_every_error_setting_and_field() -> None:
    text = (ROOT / "docs" / "web-fetch.md").read_text(encoding="utf-8")
    codes = [kind.code for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ToolError)]
    named = {*codes, *env_names("web_fetch", WebFetchSettings), *FetchResult.model_fields, *FetchInput.model_fields}
    optional = {ToolError.code, "WEB_FETCH_ENABLED"}
    assert [name for name in sorted(named - optional) if f"`{name}`" not in text] == []


def module_line(path: Path, exported: dict[str, list[str]], indent: str) -> Iterator[str]:
    """A module of the tree: what it is for, and below it the names that its package gives to others."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    yield f"{indent}{path.name:<18} {' '.join(docstring.partition(chr(10) * 2)[0].split())}"
    names = exported.get(f"glados.{str(path).partition('/glados/')[2].removesuffix('.py').replace('/', '.')}", [])
    if names:
        lines = textwrap.wrap(", ".join(names), 115 - len(indent) - 21)
        yield from (f"{indent}{'':<18}   {line}" for line in lines)


def exported_names(package: Path) -> dict[str, list[str]]:
    """The public names of a package by the module that they come from."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):  # names that are loaded later are imported for type checkers only
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("glados."):
            found.setdefault(node.module, []).extend(alias.name for alias in node.names)
    return found


def tree() -> str:
    """The modules of every package, each with the first sentence of its docstring."""
    lines: list[str] = []
    for source in sorted(ROOT.glob("packages/*/src/glados")):
        package = source / source.parent.parent.name
        lines.append(f"{name(package)}/")
        exported = exported_names(package)
        for path in sorted(package.rglob("*.py")):
            inside = path.relative_to(package).parts
            if path.name == "__init__.py":
                lines += [f"  {'/'.join(inside[:-1])}/"] if inside[:-1] else []
            else:
                lines += module_line(path, exported, "  " * len(inside))
        lines += (line for path in sorted(source.glob("*.py")) for line in module_line(path, {}, "  ../"))
    return "".join(f"{line}\n" for line in lines)


def with_tree(contributing: str) -> str:
    """The text of CONTRIBUTING.md with the tree as it is now."""
    return re.sub(r"(?<=```text\n)packages/\w+/src.*?(?=```)", lambda _: tree(), contributing, count=1, flags=re.DOTALL)


def test_contributing_shows_the_tree_as_it_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert tree() in text, "write it anew: .venv/bin/python tests/test_docs.py"


if __name__ == "__main__":
    file = ROOT / "CONTRIBUTING.md"
    file.write_text(with_tree(file.read_text(encoding="utf-8")), encoding="utf-8")
