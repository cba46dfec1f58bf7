from __future__ import annotations

from typing import Any

import pytest

from glados.core import App, Services, ToolResultPart, tool
from glados.core.artifacts import (
    ArtifactNotFound,
    ArtifactsSettings,
    ArtifactStore,
    MemoryArtifactStore,
    Piece,
)
from glados.core.testing import AppFactory, ScriptedModel, call, plugin_of

LINES = "".join(f"line {number}\n" for number in range(100))


@tool("toys.long", read_only=True, open_world=False, max_result_chars=100, render=lambda output: output.result)
async def long() -> str:
    """Give many lines."""
    return LINES


@tool("toys.page", read_only=True, max_result_chars=100, render=lambda output: output.result)
async def page() -> str:
    """Give many lines from outside."""
    return LINES


class BrokenStore(MemoryArtifactStore):
    async def put(self, *_: Any, **__: Any) -> str | None:
        raise OSError("disk full")


def keeping(store: ArtifactStore) -> Any:
    def register(services: Services) -> None:
        services.provide(ArtifactStore, lambda: store, replace=True)

    return register


async def open_app(glados_app: AppFactory, model: ScriptedModel, store: ArtifactStore | None = None) -> App:
    return await glados_app(
        plugins=[plugin_of(long, page)], services=keeping(store or MemoryArtifactStore()), model=model
    )


def result(model: ScriptedModel) -> ToolResultPart:
    part = model.requests[-1].messages[-1].parts[-1]
    assert isinstance(part, ToolResultPart)
    return part


async def test_what_is_cut_is_kept_and_the_notice_says_how_to_read_on(glados_app: AppFactory) -> None:
    model = ScriptedModel(call("toys.long"), "Long.")
    app = await open_app(glados_app, model)
    await app.run("Read")
    part = result(model)
    shown, _, notice = part.text.partition("\n\n[")

    assert LINES.startswith(shown)
    assert shown.endswith("line 12\n")
    assert part.artifact_id
    call_on = f'read on with artifacts.read {{"id": "{part.artifact_id}", "offset": {len(shown)}}}]'
    assert notice == f"cut: {len(shown)} of {len(LINES)} characters are shown; {call_on}"
    assert part.to_dict()["artifact_id"] == part.artifact_id


async def test_the_pieces_that_the_tool_reads_are_the_whole_result(glados_app: AppFactory) -> None:
    store, model = MemoryArtifactStore(), ScriptedModel(call("toys.long"), "Long.")
    app = await open_app(glados_app, model, store)
    await app.run("Read")
    id, offset, read = result(model).artifact_id, 0, ""
    while offset is not None:
        piece = await app.call("artifacts.read", {"id": id, "offset": offset, "limit": 64})
        assert (piece["offset"], piece["total"]) == (len(read), len(LINES))
        assert piece["has_more"] == (piece["next_offset"] is not None)
        read, offset = read + piece["text"], piece["next_offset"]

    assert read == LINES


@pytest.mark.parametrize(("tool_id", "untrusted"), [("toys.long", False), ("toys.page", True)])
async def test_what_is_read_on_is_from_outside_if_the_result_was(
    tool_id: str, untrusted: bool, glados_app: AppFactory
) -> None:
    model = ScriptedModel(call(tool_id), "Long.")
    app = await open_app(glados_app, model)
    session = (await app.run("Read")).session_id
    id = result(model).artifact_id
    model.replies = [call("artifacts.read", id=id, offset=50, limit=60), "Read."]
    await app.run("Read on", session=session)
    part = result(model)

    assert part.untrusted is untrusted
    assert part.text.startswith("<untrusted-") is untrusted
    assert "cut: 50 to " in part.text
    assert part.artifact_id == id


async def test_a_result_that_fits_is_no_artifact(glados_app: AppFactory) -> None:
    store = MemoryArtifactStore()
    model = ScriptedModel(call("toys.short"), "Short.")

    @tool("toys.short", read_only=True, open_world=False, max_result_chars=7, render=lambda output: output.result)
    async def short() -> str:
        """Give a word."""
        return "exactly"

    app = await glados_app(plugins=[plugin_of(short)], services=keeping(store), model=model)
    await app.run("Read")

    assert (result(model).text, result(model).artifact_id, result(model).meta) == ("exactly", None, ())


async def test_a_store_that_fails_costs_the_rest_and_not_the_call(glados_app: AppFactory) -> None:
    model = ScriptedModel(call("toys.long"), "Long.")
    app = await open_app(glados_app, model, BrokenStore())
    await app.run("Read")

    assert result(model).artifact_id is None
    assert result(model).text.endswith(f"of {len(LINES)} characters are shown]")


@pytest.mark.parametrize("id", ["", "nothing", "0" * 16])
async def test_an_artifact_that_is_not_there_is_told(id: str, glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ScriptedModel())

    with pytest.raises(ArtifactNotFound, match="There is no artifact"):
        await app.call("artifacts.read", {"id": id})


async def kept(store: MemoryArtifactStore, ids: list[str | None]) -> list[bool]:
    found: list[bool] = []
    for id in ids:
        try:
            await store.read(str(id), 0, 10)
            found.append(True)
        except ArtifactNotFound:
            found.append(False)
    return found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ArtifactsSettings(max_number=2), [False, True, True]),
        (ArtifactsSettings(max_bytes=250), [False, False, True]),
        (ArtifactsSettings(max_bytes=10), [False, False, False]),
        (ArtifactsSettings(max_number=0), [False, False, False]),
    ],
)
async def test_the_oldest_give_way_to_what_is_new(settings: ArtifactsSettings, expected: list[bool]) -> None:
    store = MemoryArtifactStore(settings)
    ids = [await store.put("s", f"c{number}", "toys.long", "x" * 100, False) for number in range(3)]

    assert await kept(store, ids) == expected


async def test_artifacts_of_a_deleted_session_are_dropped() -> None:
    store = MemoryArtifactStore()
    ids = [await store.put(session, "c", "toys.long", "text", False) for session in ("a", "b", None)]
    await store.forget_session("a")

    assert await kept(store, ids) == [False, True, True]


@pytest.mark.parametrize(("offset", "text"), [(0, "one "), (4, "two"), (7, ""), (99, "")])
async def test_an_offset_beyond_the_end_gives_nothing(offset: int, text: str) -> None:
    store = MemoryArtifactStore()
    id = await store.put("s", "c", "toys.long", "one two", True)
    piece = await store.read(str(id), offset, 4)

    assert piece == Piece(text, min(offset, 7), 7, True)
