"""Where a run stood, read from its entries."""

from __future__ import annotations

from typing import Any

import pytest

from glados.core import Charge, Draft, Message, TextPart, ToolCallPart, ToolResultPart, Usage
from glados.core.checks import Checked
from glados.core.messages import user_message
from glados.core.questions import Question
from glados.core.results import Spent, Step
from glados.core.rules import Rule
from glados.core.session_memory import MemorySessionStore
from glados.core.standing import CONTINUE, Standing, spent_below
from glados.core.tools import ToolResult, tool

CALL = ToolCallPart("c", "toys.change", "{}")
PAID = Charge("big", Usage(10, 2), 0.5)


@tool("toys.change", open_world=False)
async def change() -> str:
    """Change something."""
    return "changed"


def answer(text: str = "", *calls: ToolCallPart, stop: str | None = None, charge: Charge = PAID) -> Draft:
    message = Message("assistant", (TextPart(text), *calls) if text else calls, model="big", stop=stop)
    return Draft("message", message, "run", charges=(charge,))


def result(code: str | None = None) -> Draft:
    return Draft("message", Message("tool", (ToolResultPart("c", CALL.tool_id, "ok", code is not None, code),)), "run")


PROMPT = Draft("message", user_message("Go"), "run")
GO_ON = Draft("message", user_message(CONTINUE), "run")


async def stood(*drafts: Draft) -> Standing:
    store = MemorySessionStore()
    session = await store.create()
    await store.append(session.id, [Draft("message", user_message("Before"), "earlier"), *drafts])
    return Standing.of(await store.branch(session.id), "run")


async def test_a_run_that_has_only_its_prompt_has_used_nothing() -> None:
    standing = await stood(PROMPT)

    assert (standing.answer, standing.calls, standing.progress.spent) == (None, [], Spent())


async def test_answers_and_results_are_steps_and_count_against_the_limits() -> None:
    standing = await stood(PROMPT, answer("Well.", CALL), result("tool_failed"), answer("Done."))

    assert standing.progress.text == "Done."
    assert standing.progress.spent == Spent(2, Usage(20, 4), 1.0)
    assert standing.progress.steps == (
        Step("model", "big", usage=Usage(10, 2)),
        Step("tool", "toys.change", "c", "tool_failed"),
        Step("model", "big", usage=Usage(10, 2)),
    )
    assert standing.is_whole


async def test_a_price_that_was_unknown_stays_unknown() -> None:
    standing = await stood(PROMPT, answer("Well.", CALL, charge=Charge("big", None, None)))

    assert standing.progress.spent == Spent(1, Usage(), None)


@pytest.mark.parametrize(
    ("drafts", "text", "continued"),
    [
        ([answer("One ", stop="length")], "One ", 0),
        ([answer("One ", stop="length"), GO_ON], "One ", 1),
        ([answer("One ", stop="length"), GO_ON, answer("two ", stop="length"), GO_ON], "One two ", 2),
        ([answer("One ", stop="length"), GO_ON, answer("two", CALL), result()], "One two", 0),
    ],
)
async def test_the_pieces_of_an_answer_that_was_cut_are_one_text(drafts: Any, text: str, continued: int) -> None:
    progress = (await stood(PROMPT, *drafts)).progress

    assert (progress.text, progress.continued) == (text, continued)


async def test_what_the_last_call_has_read_is_known_until_the_history_is_compacted() -> None:
    assert (await stood(PROMPT, answer("Well.", CALL), result())).usage == Usage(10, 2)
    compacted = Draft("compaction", {"summary": "s", "first_kept_id": "x"}, "run", charges=(PAID,))
    assert (await stood(PROMPT, answer("Well.", CALL), result(), compacted)).usage is None


async def test_the_model_to_which_it_changed_is_known() -> None:
    assert (await stood(PROMPT, Draft("model_change", {"from": "big", "to": "other", "why": "down"}, "run"))).model == (
        "other"
    )


async def test_a_call_to_which_a_person_said_no_has_the_result_that_it_would_have_had() -> None:
    question = Question("q", "s", "run", "c", "toys.change", {}, "", "", "", Rule("allow", "toys.change")).to_entry()
    no = {"id": "q", "answer": "deny", "why": "a person said no", "principal": "local"}
    asked, answered = Draft("permission_question", question, "run"), Draft("permission_answer", no, "run")
    standing = await stood(PROMPT, answer("", CALL), asked, answered)
    told = standing.again(CALL, Checked(CALL, change, change.input_model(), change.flags()))

    assert isinstance(told, ToolResult)
    assert told.text == "Error permission_denied: toys.change was not allowed: a person said no."


async def test_what_agents_have_used_counts_for_the_run_that_started_them() -> None:
    store, message = MemorySessionStore(), "a" * 32
    parent = await store.create()
    for id in (f"agent-tool-{message}-c", f"agent-tool-{'b' * 32}-c"):
        child = await store.create(parent_id=parent.id, id=id)
        below = await store.create(parent_id=child.id)
        await store.append(child.id, [answer("One."), answer("Two.")])
        await store.append(below.id, [answer("Three.")])

    assert await spent_below(store, parent.id, [message]) == (Spent(3, Usage(30, 6), 1.5), 2)
