"""What people do with sessions, through the app: every change is told, and none disturbs a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from glados.core import (
    App,
    Draft,
    Entry,
    EntryNotFound,
    MemorySessionStore,
    ModelDelta,
    ModelDone,
    ModelRequest,
    RequestError,
    Session,
    SessionBusy,
    SessionCreated,
    SessionExists,
    SessionNotFound,
    SessionUpdated,
    TextDelta,
    Usage,
)
from glados.core.export_lines import MAX_TAG, MAX_TAGS, MAX_TITLE
from glados.core.messages import user_message
from glados.core.session_actions import MAX_QUERY
from glados.core.testing import AppFactory, ScriptedModel, next_of


class HeldModel:
    """Answers when it is told to."""

    name = "held"

    def __init__(self) -> None:
        self.asked, self.answer = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        self.asked.set()
        await self.answer.wait()
        yield TextDelta("done")
        yield ModelDone("end", Usage(1, 1), self.name)

    async def close(self) -> None: ...


async def exported(app: App, session_id: str) -> list[bytes]:
    return [line.encode() async for line in await app.export_session(session_id)]


async def texts(app: App, session_id: str) -> list[str]:
    branch = await app.sessions.branch(session_id)
    return [entry.payload.text for entry in branch if not isinstance(entry.payload, dict)]


async def test_a_session_is_renamed_and_tagged_and_both_are_told(glados_app: AppFactory) -> None:
    app = await glados_app()
    session = await app.create_session(" A\n cake ")
    with app.bus.subscribe(session.id) as events:
        renamed = await app.rename_session(session.id, "  The\ncake ")
        assert (await next_of(events, SessionUpdated)).session == renamed.to_dict()
        tagged = await app.tag_session(session.id, ["b", "a", " b "])
        assert (await next_of(events, SessionUpdated)).session == tagged.to_dict()
    assert (session.title, renamed.title, tagged.tags) == ("A cake", "The cake", ("b", "a"))
    assert await app.sessions.get(session.id) == tagged


@pytest.mark.parametrize("title", ["", " \n", "x" * (MAX_TITLE + 1)])
async def test_a_title_has_a_length(glados_app: AppFactory, title: str) -> None:
    app = await glados_app()
    session = await app.create_session()
    with pytest.raises(RequestError, match=f"1 to {MAX_TITLE} characters"):
        await app.rename_session(session.id, title)
    assert (await app.rename_session(session.id, "x" * MAX_TITLE)).title


@pytest.mark.parametrize("tags", [[""], ["x" * (MAX_TAG + 1)], [str(n) for n in range(MAX_TAGS + 1)]])
async def test_tags_have_a_length_and_a_number(glados_app: AppFactory, tags: list[str]) -> None:
    app = await glados_app()
    session = await app.create_session()
    with pytest.raises(RequestError, match=r"tag"):
        await app.tag_session(session.id, tags)
    assert (await app.tag_session(session.id, [])).tags == ()


async def test_a_fork_goes_its_own_way_from_any_entry(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("one", "two", "three"))
    first = await app.run("a")
    await app.run("b", session=first.session_id)
    entries = await app.sessions.entries(first.session_id)
    with app.bus.subscribe() as events:
        fork = await app.fork_session(first.session_id, at=entries[1].id, title="Other way")
        assert (await next_of(events, SessionCreated)).session == fork.to_dict()
    await app.run("c", session=fork.id)

    assert await texts(app, fork.id) == ["a", "one", "c", "three"]
    assert await texts(app, first.session_id) == ["a", "one", "b", "two"]
    assert (fork.title, fork.forked_from) == ("Other way", first.session_id)


async def test_a_switch_lets_the_next_prompt_follow_another_entry(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("one", "two"))
    first = await app.run("a")
    entries = await app.sessions.entries(first.session_id)
    with app.bus.subscribe(first.session_id) as events:
        switched = await app.switch_branch(first.session_id, entries[1].id)
        assert (await next_of(events, SessionUpdated)).session["head"] == entries[1].id
    assert switched.head == entries[1].id
    assert (await app.switch_branch(first.session_id, None)).head is None
    await app.run("b", session=first.session_id)
    assert await texts(app, first.session_id) == ["b", "two"]
    with pytest.raises(EntryNotFound):
        await app.switch_branch(first.session_id, "nothing")


async def test_while_a_run_works_nobody_moves_the_branch_below_it(glados_app: AppFactory) -> None:
    model = HeldModel()
    app = await glados_app(model=model)
    session = await app.create_session()
    running = asyncio.create_task(app.run("wait", session=session.id))
    await model.asked.wait()
    [prompt, *_] = await app.sessions.entries(session.id)
    for attempt in (app.switch_branch(session.id, None), app.fork_session(session.id)):
        with pytest.raises(SessionBusy):
            await attempt
    assert await texts(app, (await app.fork_session(session.id, at=prompt.id)).id) == ["wait"]
    assert (await app.rename_session(session.id, "While it works")).title
    model.answer.set()
    await running
    assert (await app.switch_branch(session.id, None)).head is None


async def test_the_latest_session_is_the_one_last_worked_in(glados_app: AppFactory) -> None:
    app = await glados_app()
    with pytest.raises(SessionNotFound, match="no session to go on with"):
        await app.latest_session()
    older, newer = await app.create_session(), await app.create_session()
    await app.sessions.create(parent_id=newer.id)
    time = "2999-01-01T00:00:00.000+00:00"
    await app.sessions.restore([(Session("later", None, time, time), [])])
    assert (await app.latest_session()).id == "later"
    await app.delete_session("later")
    assert (await app.latest_session()).id in (older.id, newer.id)


async def test_a_session_is_found_by_the_beginning_of_its_id(glados_app: AppFactory) -> None:
    app = await glados_app()
    for id in ("abc1", "abc2", "abd", "abd9"):
        await app.sessions.create(id=id)
    assert (await app.find_session("abc1")).id == "abc1"
    assert (await app.find_session("abd")).id == "abd"
    assert (await app.find_session("abd9")).id == "abd9"
    with pytest.raises(RequestError, match=r"More than one session begins with 'abc'.*: abc2, abc1\."):
        await app.find_session("abc")
    for unknown in ("x", ""):
        with pytest.raises(SessionNotFound):
            await app.find_session(unknown)


async def test_an_import_keeps_ids_that_are_free_and_changes_those_that_are_taken(glados_app: AppFactory) -> None:
    app = await glados_app(model=ScriptedModel("one", "two"))
    result = await app.run("a")
    child = await app.sessions.create(parent_id=result.session_id)
    lines = await exported(app, result.session_id)
    with app.bus.subscribe() as events:
        copies = await app.import_sessions(lines)
        assert (await next_of(events, SessionCreated)).session == copies[0].to_dict()
    assert [copy.parent_id for copy in copies] == [None, copies[0].id]
    assert not {copy.id for copy in copies} & {result.session_id, child.id}
    assert all(copy.tainted for copy in copies)
    assert await texts(app, copies[0].id) == await texts(app, result.session_id)
    await app.delete_session(result.session_id)
    back = await app.import_sessions(lines)
    assert [session.id for session in back] == [result.session_id, child.id]
    await app.run("b", session=result.session_id)
    assert await texts(app, result.session_id) == ["a", "one", "b", "two"]


class FailingStore(MemorySessionStore):
    """Takes one session and no more."""

    async def restore(self, logs: Sequence[tuple[Session, Sequence[Entry]]]) -> list[Session]:
        if len(logs) > 1:
            raise SessionExists("There is one already.")
        return await super().restore(logs)


async def test_an_import_comes_in_whole_or_not_at_all(glados_app: AppFactory) -> None:
    app = await glados_app()
    root = await app.create_session()
    await app.sessions.create(parent_id=root.id)
    lines = await exported(app, root.id)
    other = await glados_app(store=FailingStore())
    with pytest.raises(SessionExists):
        await other.import_sessions(lines)
    with pytest.raises(RequestError, match="Line 3"):
        await other.import_sessions([*lines, b"{}"])
    assert await other.sessions.list() == []


async def test_markdown_is_exported_too_and_an_unknown_session_is_named_at_once(glados_app: AppFactory) -> None:
    app = await glados_app()
    session = await app.create_session("Cake")
    assert "".join([piece async for piece in await app.export_session(session.id, "markdown")]).startswith("# Cake")
    with pytest.raises(SessionNotFound):
        await app.export_session("nothing")


async def test_a_search_needs_words(glados_app: AppFactory) -> None:
    app = await glados_app()
    session = await app.create_session()
    await app.sessions.append(session.id, [Draft("message", user_message("The cake is a lie"))])
    assert [found.session_id for found in await app.search("lie cake")] == [session.id]
    bad: Any
    for bad in ("", "  ", "x" * (MAX_QUERY + 1)):
        with pytest.raises(RequestError, match="needs words"):
            await app.search(bad)


async def test_costs_are_told_by_model(glados_app: AppFactory) -> None:
    app = await glados_app()
    assert await app.costs((await app.create_session()).id) == []
    with pytest.raises(SessionNotFound):
        await app.costs("nothing")
