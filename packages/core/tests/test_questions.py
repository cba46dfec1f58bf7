"""Questions that outlast the process that asked them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from glados.core import App, PermissionRequest, QuestionAnswered, ToolContext, tool
from glados.core.permissions import Answer, Question
from glados.core.rules import Rule
from glados.core.testing import AppFactory, call, plugin_of
from packages.core.tests.crashes import Disk, Process, Teller, checked, until_dead, until_done

SCRIPT: Any = ([call("toys.change", "c", to="red")], [call("toys.change", "d", to="red")], ["Done."])
changed: list[str] = []


@tool("toys.change", open_world=False, permission=lambda _: PermissionRequest(fields={"to": "red"}))
async def change(to: str) -> str:
    """Change something."""
    changed.append(to)
    return "changed"


async def start(glados_app: AppFactory, store: Process, plugin: Any = None, **settings: Any) -> App:
    plugins = [plugin or plugin_of(change)]
    return await glados_app(plugins=plugins, model=Teller(*SCRIPT), store=store, recovers=True, settings=settings)


async def asked(glados_app: AppFactory, plugin: Any = None) -> tuple[Disk, str, Question]:
    """A session in which a process died while a question was open."""
    changed.clear()
    process = Process(Disk(), 3)
    app = await start(glados_app, process, plugin)
    session = await app.create_session()
    await until_dead(app, process, "Go", session.id, on_question="wait")
    entries = await process.entries(session.id)
    assert entries[-1].kind == "permission_question"
    assert isinstance(entries[-1].payload, dict)
    return process.disk, session.id, Question.from_entry(entries[-1].payload)


async def pending(app: App) -> Question:
    """The question that is asked, once it is."""
    while not app.permissions.pending():
        await asyncio.sleep(0)
    (question,) = app.permissions.pending()
    return question


def test_a_question_is_read_back_as_it_was_written_down() -> None:
    rule = Rule("allow", "toys.change", {"to": "*"}, "session", exact=True, even_if_tainted=True)
    for given in (rule, None):
        question = Question("q", "s", "r", "c", "toys.change", {"to": "red"}, "May I?", "because", "now", given)
        assert Question.from_entry(question.to_entry()) == question


@pytest.mark.parametrize(
    ("answer", "times", "questions"), [("once", 2, 2), ("session", 2, 1), ("always", 2, 1), ("deny", 0, 1)]
)
async def test_a_question_is_asked_again_under_its_id_and_answered(
    answer: Answer, times: int, questions: int, glados_app: AppFactory
) -> None:
    disk, session_id, before = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process)
    question = await pending(app)
    app.permissions.answer(question.id, answer)
    await until_done(app, process)

    log = checked(await process.entries(session_id))
    assert question == before
    assert log.count("permission_question") == questions
    assert log[-1] == "run_end end"
    assert changed == ["red"] * times
    assert len(await app.permissions.rules()) == (answer == "always")


async def test_of_two_answers_one_counts_and_a_late_one_is_told_so(glados_app: AppFactory) -> None:
    disk, session_id, before = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process)
    await pending(app)

    async def answer(given: Answer) -> Question:
        return app.permissions.answer(before.id, given)

    one, other = await asyncio.gather(answer("deny"), answer("session"), return_exceptions=True)
    assert one == before
    assert isinstance(other, QuestionAnswered)
    await until_done(app, process)
    with pytest.raises(QuestionAnswered, match="answered before"):
        app.permissions.answer(before.id, "once")
    assert changed == []
    assert "tool c=permission_denied" in checked(await process.entries(session_id))


async def test_a_question_that_nobody_answers_times_out_anew(glados_app: AppFactory) -> None:
    disk, session_id, before = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process, permissions={"timeout": 0.001})
    while await process.open_runs():
        await asyncio.sleep(0)

    log = checked(await process.entries(session_id))
    assert log[4:6] == ["permission_answer deny", "tool c=permission_denied"]
    with pytest.raises(QuestionAnswered, match="closed unanswered"):
        app.permissions.answer(before.id, "once")


async def test_a_question_that_would_ask_something_else_now_is_asked_anew(glados_app: AppFactory) -> None:
    @tool("toys.change", open_world=False, permission=lambda _: PermissionRequest(fields={"to": "everything"}))
    async def newer(to: str) -> str:
        """Change something."""
        changed.append(to)
        return "changed"

    disk, session_id, before = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process, plugin_of(newer))
    question = await pending(app)
    assert question.id != before.id
    await until_done(app, process)

    assert checked(await process.entries(session_id))[-1] == "run_end end"


async def test_a_question_that_a_rule_answers_by_now_is_not_asked(glados_app: AppFactory) -> None:
    disk, session_id, _ = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process, permissions={"allow": ["toys.change"]})
    await until_done(app, process)

    assert changed == ["red", "red"]
    assert checked(await process.entries(session_id))[-1] == "run_end end"


async def test_a_call_that_asked_in_the_middle_of_its_work_is_not_made_again(glados_app: AppFactory) -> None:
    @tool("toys.change", open_world=False, destructive=False)
    async def asks(to: str, ctx: ToolContext) -> bool:
        """Change something and ask about the rest."""
        changed.append(to)
        return await ctx.ask("The rest too?")

    changed.clear()
    process = Process(Disk(), 3)
    app = await start(glados_app, process, plugin_of(asks), permissions={"allow": ["toys.change"]})
    session = await app.create_session()
    await until_dead(app, process, "Go", session.id, on_question="wait")
    second = Process(process.disk)
    app = await start(glados_app, second, plugin_of(asks), permissions={"allow": ["toys.change"]})
    await until_done(app, second)

    log = checked(await second.entries(session.id))
    assert log[3:6] == ["run_resume", "permission_answer deny", "tool c=interrupted"]
    assert changed == ["red", "red"]  # the first time before the crash, then the second call


async def test_an_app_that_stops_while_a_question_waits_ends_the_run_as_ever(glados_app: AppFactory) -> None:
    disk, session_id, _ = await asked(glados_app)
    process = Process(disk)
    app = await start(glados_app, process)
    await pending(app)
    await app.abort(session_id)

    log = checked(await process.entries(session_id))
    assert log[-3:] == ["permission_answer deny", "tool c=aborted", "run_end aborted"]
