from __future__ import annotations

import time
from pathlib import Path

import pytest

from glados.core import Prepare, hookimpl, tool
from glados.core.context import MAX_ITEM_CHARS, MAX_PLUGIN_CHARS, MAX_PROJECT_CHARS, Context
from glados.core.plugins import Plugin
from glados.core.testing import AppFactory, ScriptedModel, call, plugin_of
from glados.core.workspaces import MAX_FILE_CHARS, Workspace

ITEMS = [("dice", "You can roll dice."), ("web-fetch", "You can fetch pages."), ("dice", "Twice.")]
NOON = time.mktime((2026, 2, 18, 12, 0, 0, 0, 0, -1))


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "AGENTS.md"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    write(tmp_path / "repository", "Use tabs.")
    write(tmp_path / "repository" / "part", "Use spaces.")
    return Workspace(tmp_path / "repository" / "part", trusted=True)


def test_the_parts_stand_in_one_order_and_the_date_last(workspace: Workspace, tmp_path: Path) -> None:
    context = Context(write(tmp_path / "config", "Be brief."), lambda: NOON)
    parts = context.parts("You are glados.", ITEMS, workspace)
    root = workspace.path.parent

    assert [part.name for part in parts] == [
        "base",
        "untrusted",
        "plugin:dice",
        "plugin:web-fetch",
        "plugin:dice",
        "user",
        f"project:{root / 'AGENTS.md'}",
        f"project:{root / 'part' / 'AGENTS.md'}",
        "date",
    ]
    system = context.system("You are glados.", ITEMS, workspace)
    assert system == "\n\n".join(part.text for part in parts)
    assert system.startswith("You are glados.\n\n")
    assert system.endswith(f"from {root / 'part' / 'AGENTS.md'}:\n\nUse spaces.\n\nToday is 2026-02-18.")


def test_parts_that_are_not_there_leave_no_trace(tmp_path: Path) -> None:
    context = Context(tmp_path / "AGENTS.md", lambda: NOON)

    assert [part.name for part in context.parts("Base.")] == ["base", "untrusted", "date"]
    assert "\n\n\n" not in context.system("Base.", [("dice", "")])


def test_nothing_of_a_workspace_that_nobody_trusts_is_in_the_prompt(workspace: Workspace) -> None:
    context = Context(clock=lambda: NOON)

    assert context.system("Base.", (), Workspace(workspace.path)) == context.system("Base.")


def test_the_prompt_has_the_same_bytes_until_something_changes(workspace: Workspace, tmp_path: Path) -> None:
    file, now = write(tmp_path / "config", "Be brief."), [NOON]
    context = Context(file, lambda: now[0])
    prompts = [context.system("Base.", ITEMS, workspace).encode()]
    for hours in (1, 11.9):
        now[0] = NOON + hours * 3600
        prompts.append(context.system("Base.", ITEMS, workspace).encode())
    assert len(set(prompts)) == 1

    now[0] = NOON + 12 * 3600
    tomorrow = context.system("Base.", ITEMS, workspace)
    assert tomorrow.endswith("Today is 2026-02-19.")
    assert tomorrow.encode()[:-15] == prompts[0][:-15]  # all but the date

    file.write_text("Be very brief.", encoding="utf-8")
    assert "Be very brief." in context.system("Base.", ITEMS, workspace)


def test_every_part_is_bounded(tmp_path: Path) -> None:
    context = Context(clock=lambda: NOON)
    flood = [("chatty", "word " * MAX_ITEM_CHARS)] * 20
    folder = tmp_path
    (tmp_path / ".git").mkdir()
    for _ in range(6):
        write(folder, "word " * MAX_FILE_CHARS)
        folder = folder / "d"
    parts = context.parts("Base.", flood, Workspace(folder.parent, trusted=True))
    sizes = {kind: sum(len(part.text) for part in parts if part.name.startswith(kind)) for kind in ("plugin", "proj")}

    assert all(len(part.text) <= MAX_ITEM_CHARS + 100 for part in parts if part.name.startswith("plugin"))
    assert MAX_PLUGIN_CHARS // 2 < sizes["plugin"] <= MAX_PLUGIN_CHARS + 500
    assert MAX_PROJECT_CHARS // 2 < sizes["proj"] <= MAX_PROJECT_CHARS + 1_000
    assert f"project:{folder.parent / 'AGENTS.md'}" in {part.name for part in parts}  # the nearest one has room first


def test_half_a_character_of_a_plugin_does_not_break_the_prompt() -> None:
    assert Context().system("Base.", [("odd", "\ud800")]).encode()


async def test_the_prompt_and_the_tools_have_the_same_bytes_from_call_to_call_and_run_to_run(
    glados_app: AppFactory,
) -> None:
    turn = [0]

    @tool("toys.look", read_only=True)
    async def look() -> str:
        """Look."""
        return "a cake"

    @tool("toys.also", read_only=True)
    async def also() -> str:
        """Look too."""
        return "a cup"

    class Shuffling(Plugin):
        id = "toys"

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            turn[0] += 1
            prepare.tools.extend([look, also] if turn[0] % 2 else [also, look])
            prepare.context.append("There are toys.")

    @tool("zoo.feed", read_only=True)
    async def feed() -> str:
        """Feed."""
        return "fed"

    looks = call("toys.look"), call("toys.also")
    model = ScriptedModel(looks, looks, "One.", looks, "Two.", "Three.")
    app = await glados_app(plugins=[Shuffling, plugin_of(feed, context=["There is a zoo."])], model=model)
    session = (await app.run("Look")).session_id
    await app.run("Again", session=session)
    await app.run("Elsewhere")

    assert len(model.requests) == 6
    assert len({request.system.encode() for request in model.requests}) == 1
    assert len({tuple(tool.id for tool in request.tools) for request in model.requests}) == 1
    for before, after in zip(model.requests[:4], model.requests[1:5], strict=True):
        assert after.messages[: len(before.messages)] == before.messages
