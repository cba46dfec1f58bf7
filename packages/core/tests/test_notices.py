from __future__ import annotations

import json

import pytest

from glados.core import ToolCallEnded, ToolContext, ToolError, ToolResult, ToolResultPart, tool
from glados.core.fences import Fence
from glados.core.notices import MAX_NOTES, Limit, Note, Source, Truncation, render
from glados.core.outcomes import content, part, told
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

SOURCE = Source(url="https://example.com/a")
LIMIT = Limit("matches", 100, "GREP_MAX_MATCHES")


@pytest.mark.parametrize(
    ("notes", "notice"),
    [
        ([], ""),
        ([Truncation(4, 10)], "[cut: 4 of 10 characters are shown]"),
        ([Truncation(4, unit="lines")], "[cut: 4 lines are shown]"),
        ([Truncation(4, 10, next_offset=4)], "[cut: 4 of 10 characters are shown; read on from offset 4]"),
        ([Truncation(5, 20, "lines", 10)], "[cut: 10 to 15 of 20 lines are shown]"),
        ([SOURCE], "[source: https://example.com/a]"),
        ([Source(path="a\nb  c")], "[source: a b c]"),
        ([Source(url="x" * 9_000)], f"[source: {'x' * 500}]"),
        ([Limit("seconds", 1.5)], "[limit: 1.5 seconds]"),
        ([Limit("bytes", 64_000_000)], "[limit: 64000000 bytes]"),
        ([Limit("seconds", float("inf"))], "[limit: inf seconds]"),
        ([SOURCE, LIMIT], "[source: https://example.com/a. limit: 100 matches (GREP_MAX_MATCHES)]"),
    ],
    ids=range(12),
)
def test_the_facts_make_one_line(notes: list[Note], notice: str) -> None:
    assert render(notes) == notice


def test_facts_are_told_as_json() -> None:
    facts = [note.to_dict() for note in (Truncation(4, 10, artifact_id="a"), SOURCE, LIMIT)]

    assert json.loads(json.dumps(facts)) == facts
    assert [fact["type"] for fact in facts] == ["truncation", "source", "limit"]
    assert facts[2] == {"type": "limit", "what": "matches", "value": 100, "setting": "GREP_MAX_MATCHES"}


def result(text: str, *notes: Note, untrusted: bool) -> ToolResult:
    return ToolResult("c", "toys.grep", text, untrusted=untrusted, notes=notes)


def test_a_source_is_named_by_the_content_and_stands_with_it_in_the_delimiter() -> None:
    fence = Fence("1234567890123456")
    read = part(result("text", SOURCE, LIMIT, untrusted=True), fence)

    inside, _, behind = read.text.partition("\n</untrusted-1234567890123456>")
    assert inside.endswith("text\n\n[source: https://example.com/a]")
    assert behind == "\n\n[limit: 100 matches (GREP_MAX_MATCHES)]"


@pytest.mark.parametrize("untrusted", [False, True])
@pytest.mark.parametrize("notes", [(), (SOURCE,), (LIMIT,), (SOURCE, LIMIT), (LIMIT, Truncation(1, 2))], ids=range(5))
@pytest.mark.parametrize("text", ["", "text", '{"a":\n\n[1]}', "a\n\n[b]"])
def test_the_content_alone_can_be_had_back(text: str, notes: tuple[Note, ...], untrusted: bool) -> None:
    told_to_the_model = part(result(text, *notes, untrusted=untrusted), Fence())

    assert content(told_to_the_model) == text


def test_people_read_the_notices_without_the_delimiter() -> None:
    assert told(result("text", SOURCE, untrusted=True)) == "text\n\n[source: https://example.com/a]"


@tool("toys.grep", read_only=True, open_world=False)
async def grep(ctx: ToolContext, fail: bool = False) -> int:
    """Look for something."""
    ctx.note(LIMIT)
    if fail:
        raise ToolError("The disk is gone.")
    return 100


@pytest.mark.parametrize("fail", [False, True])
async def test_a_tool_attaches_facts_that_go_wherever_its_result_goes(fail: bool, glados_app: AppFactory) -> None:
    model = ScriptedModel(call("toys.grep", fail=fail), "Many.")
    app = await glados_app(plugins=[plugin_of(grep)], model=model)
    session = await app.create_session()
    with app.bus.subscribe(session.id) as events:
        await app.run("Look", session=session.id)
        ended = await next_of(events, ToolCallEnded)
    read = model.requests[1].messages[-1].parts[0]
    assert isinstance(read, ToolResultPart)

    assert read.text.endswith("\n\n[limit: 100 matches (GREP_MAX_MATCHES)]")
    assert read.text == ended.text
    assert read.meta == ended.meta == (LIMIT.to_dict(),)
    assert read.to_dict()["meta"] == ended.payload()["meta"] == [LIMIT.to_dict()]
    assert read.is_error is fail


async def test_facts_beyond_the_limit_and_after_the_call_do_not_count(glados_app: AppFactory) -> None:
    left: list[ToolContext] = []

    @tool("toys.notes", read_only=True, open_world=False)
    async def notes(ctx: ToolContext) -> int:
        """Note too much."""
        left.append(ctx)
        for number in range(2 * MAX_NOTES):
            ctx.note(Limit("notes", number))
        return 1

    model = ScriptedModel(call("toys.notes"), "Many.")
    app = await glados_app(plugins=[plugin_of(notes)], model=model)
    await app.run("Note")
    left[0].note(LIMIT)
    read = model.requests[1].messages[-1].parts[0]
    assert isinstance(read, ToolResultPart)

    assert [fact["value"] for fact in read.meta] == list(range(MAX_NOTES))


async def test_a_tool_that_reads_through_another_gives_what_comes_from_outside(glados_app: AppFactory) -> None:
    @tool("toys.web", read_only=True)
    async def web() -> str:
        """Read from outside."""
        return "text"

    @tool("toys.reader", read_only=True, open_world=False)
    async def reader(ctx: ToolContext) -> str:
        """Read with another tool."""
        return (await ctx.call("toys.web", {}))["result"]

    model = ScriptedModel(call("toys.reader"), "Read.")
    app = await glados_app(plugins=[plugin_of(web, reader)], model=model)
    await app.run("Read")
    read = model.requests[1].messages[-1].parts[0]
    assert isinstance(read, ToolResultPart)

    assert read.untrusted
    assert read.text.startswith("<untrusted-")
