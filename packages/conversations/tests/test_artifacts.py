from __future__ import annotations

import pytest

from glados.conversations import SqlArtifactStore, SqlSessionStore
from glados.core import ArtifactsSettings
from glados.core.artifacts import ArtifactNotFound, Piece
from glados.database import DatabaseService


def artifacts(database: DatabaseService, **limits: int) -> SqlArtifactStore:
    return SqlArtifactStore(database, ArtifactsSettings(**limits))


async def test_a_text_is_read_on_from_an_offset_in_another_store_too(database: DatabaseService) -> None:
    text = "erste Zeile ü\nzweite 東京 \0 \ud800 Zeile"
    id = await artifacts(database).put("s", "call", "dice.roll", text, untrusted=True)
    assert id is not None
    reader = artifacts(database)
    assert await reader.read(id, 0, 14) == Piece("erste Zeile ü\n", 0, len(text), untrusted=True)
    assert await reader.read(id, 14, 1000) == Piece(text[14:], 14, len(text), untrusted=True)
    assert (await reader.read(id, 10**9, 5)).text == ""


@pytest.mark.parametrize("id", ["gone", "", "\0", "\ud800"])
async def test_an_unknown_artifact_is_named(database: DatabaseService, id: str) -> None:
    with pytest.raises(ArtifactNotFound, match="There is no artifact"):
        await artifacts(database).read(id, 0, 10)


async def kept(store: SqlArtifactStore, ids: list[str | None]) -> list[bool]:
    found: list[bool] = []
    for id in ids:
        try:
            await store.read(id or "", 0, 1)
            found.append(True)
        except ArtifactNotFound:
            found.append(False)
    return found


async def test_the_oldest_give_way_by_number(database: DatabaseService) -> None:
    store = artifacts(database, max_number=2)
    ids = [await store.put(None, "c", "t", "x", untrusted=False) for _ in range(4)]
    assert await kept(store, ids) == [False, False, True, True]


async def test_the_oldest_give_way_by_bytes(database: DatabaseService) -> None:
    store = artifacts(database, max_bytes=10)
    ids = [await store.put(None, "c", "t", text, untrusted=False) for text in ("1234", "ääää", "12", "123")]
    assert await kept(store, ids) == [False, False, True, True]
    assert await store.put(None, "c", "t", "x" * 11, untrusted=False) is None
    assert await artifacts(database, max_number=0).put(None, "c", "t", "x", untrusted=False) is None


async def test_artifacts_go_with_their_session(database: DatabaseService, store: SqlSessionStore) -> None:
    session, child = await store.create(), None
    child = await store.create(parent_id=session.id)
    kept_artifacts = artifacts(database)
    ids = [await kept_artifacts.put(id, "c", "t", "x", untrusted=False) for id in (session.id, child.id, None, "other")]
    await store.delete(session.id)
    await kept_artifacts.forget_session("other")
    assert await kept(kept_artifacts, ids) == [False, False, True, False]
