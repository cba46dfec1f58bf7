from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from glados.core import (
    App,
    ConfigurationError,
    InvalidAnswer,
    InvalidSetting,
    OnQuestion,
    PermissionDenied,
    PermissionGranted,
    PermissionRefused,
    PermissionRequest,
    PermissionRequested,
    PermissionService,
    PermissionsSettings,
    Question,
    QuestionAnswered,
    QuestionNotFound,
    Rule,
    ToolFlags,
    tool,
)
from glados.core.permissions import Answer, Effect, Mode, Source, decide
from glados.core.testing import AppFactory, ScriptedModel, call, next_of, plugin_of

READS = ToolFlags(True, False, False, False, False, False)
CHANGES = ToolFlags(False, False, False, False, False, False)
DESTROYS = ToolFlags(False, True, False, False, False, False)


@pytest.mark.parametrize(
    ("mode", "reads", "changes", "destroys"),
    [
        ("default", "allow", "ask", "ask"),
        ("plan", "allow", "deny", "deny"),
        ("auto", "allow", "deny", "deny"),
        ("bypass", "allow", "allow", "allow"),
    ],
)
def test_where_no_rule_matches_the_mode_decides(mode: Mode, reads: Effect, changes: Effect, destroys: Effect) -> None:
    effects = [decide((), mode, "toys.write", flags, {}).effect for flags in (READS, CHANGES, DESTROYS)]

    assert effects == [reads, changes, destroys]


def rules(*effects: Effect, source: Source = "user") -> list[Rule]:
    return [Rule(effect, "toys.*", {}, source) for effect in effects]


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize(
    ("given", "effect"),
    [
        (rules("allow", "ask", "deny"), "deny"),
        (rules("deny", "allow"), "deny"),
        (rules("allow", "ask"), "ask"),
        (rules("ask", "allow"), "ask"),
        (rules("allow"), "allow"),
    ],
    ids=["all", "deny-allow", "allow-ask", "ask-allow", "allow"],
)
def test_any_deny_wins_then_any_ask_then_allow_in_every_mode(given: list[Rule], effect: Effect, mode: Mode) -> None:
    assert decide(given, mode, "toys.write", DESTROYS, {}).effect == effect


def test_rules_of_a_project_only_tighten() -> None:
    assert decide(rules("allow", source="project"), "default", "toys.write", CHANGES, {}).effect == "ask"
    assert decide(rules("deny", source="project"), "bypass", "toys.write", CHANGES, {}).effect == "deny"
    both = [*rules("allow"), *rules("ask", source="project")]
    assert decide(both, "bypass", "toys.write", CHANGES, {}).effect == "ask"


def test_a_decision_says_why() -> None:
    by_rule = decide(rules("deny", source="policy"), "default", "toys.write", CHANGES, {})

    assert by_rule.why == "the policy rule 'deny toys.*' says so"
    assert decide((), "plan", "toys.write", DESTROYS, {}).why == (
        "toys.write may destroy something and the permission mode is 'plan'"
    )


@pytest.mark.parametrize(
    ("text", "tool_id", "fields", "matches"),
    [
        ("toys.write", "toys.write", {}, True),
        ("toys.write", "toys.write-more", {}, False),
        ("toys.*", "toys.write", {}, True),
        ("toys.*", "toysrus.write", {}, False),
        ("*", "anything.at-all", {"a": "b"}, True),
        ("toys.write(name=a)", "toys.write", {"name": "a"}, True),
        ("toys.write(name=a)", "toys.write", {"name": "A"}, False),
        ("toys.write(name=a)", "toys.write", {}, False),
        ("toys.write(name=*)", "toys.write", {"name": "a\nb c"}, True),
        ("toys.write(name=*)", "toys.write", {}, False),
        ("toys.write(name=*.org)", "toys.write", {"name": "www.python.org"}, True),
        ("toys.write(name=*.org)", "toys.write", {"name": "pythonxorg"}, False),
        ("toys.write(name=*.org)", "toys.write", {"name": "a.org.evil"}, False),
        ("toys.write(name=a.c)", "toys.write", {"name": "abc"}, False),
        ("toys.write( name = a , size = 3 )", "toys.write", {"name": "a", "size": "3", "more": "x"}, True),
        ("toys.write(name=a, size=3)", "toys.write", {"name": "a", "size": "4"}, False),
        ("toys.write(url=https://a/?b=c)", "toys.write", {"url": "https://a/?b=c"}, True),
        ("toys.write()", "toys.write", {}, True),
        ("toys.write(name=a*b*c)", "toys.write", {"name": "a-b-b-c"}, True),
        ("toys.write(name=a*b*c)", "toys.write", {"name": "a-c-b"}, False),
        ("toys.write(name=*ab*ab)", "toys.write", {"name": "abab"}, True),
        ("toys.write(name=*ab*ab)", "toys.write", {"name": "ab"}, False),
        ("toys.write(name=)", "toys.write", {"name": ""}, True),
    ],
)
def test_a_rule_matches_ids_and_fields_with_stars(
    text: str, tool_id: str, fields: Mapping[str, str], matches: bool
) -> None:
    assert Rule.parse(text, "allow").matches(tool_id, fields) is matches


def test_a_rule_with_many_stars_is_not_slowed_down_by_a_long_value() -> None:
    rule = Rule.parse(f"toys.write(name={'*a' * 30}b)", "deny")

    assert not rule.matches("toys.write", {"name": "a" * 10_000})


@pytest.mark.parametrize("text", ["", "toys.write(", "toys.write(a=1) or", "Toys", "toys write", "(a=1)"])
def test_a_rule_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no rule: write 'tool-id'") as caught:
        Rule.parse(text, "allow")
    assert repr(text) in caught.value.message


@pytest.mark.parametrize("field", ["name", "=a"])
def test_a_field_of_a_rule_that_cannot_be_read_is_named(field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"'{field}' in the rule .* is no field: write field=value"):
        Rule.parse(f"toys.write({field})", "allow")


def test_a_rule_is_written_as_it_is_read() -> None:
    assert str(Rule.parse("toys.write( name=a,size=*)", "allow")) == "toys.write(name=a, size=*)"


@tool("toys.write", permission=lambda input: PermissionRequest({"owner": input.name.upper()}, f"Write {input.name}?"))
async def write(name: str, size: int = 1) -> str:
    """Change something."""
    return name


async def open_app(glados_app: AppFactory, *replies: Any, **permissions: Any) -> App:
    model = ScriptedModel(*replies)
    return await glados_app(plugins=[plugin_of(write)], model=model, settings={"permissions": permissions})


@pytest.mark.parametrize("rule", ["toys.write(name=b*)", "toys.write(size=3)", "toys.write(owner=BOB)"])
async def test_rules_look_at_the_input_with_its_defaults_and_at_what_the_tool_adds(
    rule: str, glados_app: AppFactory
) -> None:
    app = await open_app(glados_app, allow=["toys.*"], deny=[rule])

    assert await app.call("toys.write", {"name": "ann"}) == {"result": "ann"}
    with pytest.raises(PermissionDenied, match=r"toys\.write is not allowed: the user rule 'deny toys\.write"):
        await app.call("toys.write", {"name": "bob", "size": 3})


async def test_a_denied_call_cannot_be_approved_and_an_asked_one_can(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, deny=["toys.write(name=bob)"])

    assert await app.call("toys.write", {"name": "ann"}, approve=True) == {"result": "ann"}
    with pytest.raises(PermissionDenied):
        await app.call("toys.write", {"name": "bob"}, approve=True)


async def test_where_nobody_is_there_the_refusal_says_how_to_allow_it(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(PermissionDenied, match=r"nobody can be asked here.*PERMISSIONS_ALLOW=toys\.write"):
        await app.call("toys.write", {"name": "ann"})


async def test_the_environment_sets_mode_rules_and_timeout(glados_app: AppFactory) -> None:
    environ = {
        "PERMISSIONS_MODE": "plan",
        "PERMISSIONS_ALLOW": "toys.write(name=ann),toys.read",
        "PERMISSIONS_ASK": '["toys.draw"]',
        "PERMISSIONS_TIMEOUT": "7.5",
    }
    app = await glados_app(plugins=[plugin_of(write)], environ=environ)

    assert app.permissions.settings.timeout == 7.5
    assert (app.permissions.settings.mode, app.permissions.settings.ask) == ("plan", ["toys.draw"])
    assert await app.call("toys.write", {"name": "ann"}) == {"result": "ann"}
    with pytest.raises(PermissionDenied, match="mode is 'plan'"):
        await app.call("toys.write", {"name": "bob"})


@pytest.mark.parametrize(
    ("name", "value"), [("MODE", "yolo"), ("ALLOW", "Not a rule"), ("DENY", "toys.write(name)"), ("TIMEOUT", "0")]
)
async def test_a_wrong_setting_stops_the_start_and_names_the_variable(
    name: str, value: str, glados_app: AppFactory
) -> None:
    with pytest.raises(InvalidSetting, match=f"PERMISSIONS_{name}"):
        await glados_app(environ={f"PERMISSIONS_{name}": value})


async def on_question_async(_question: Question) -> Answer:
    await asyncio.sleep(0)
    return "once"


@pytest.mark.parametrize("on_question", [lambda _: "once", on_question_async], ids=["plain", "async"])
async def test_a_function_of_the_caller_answers(on_question: OnQuestion, glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    assert await app.call("toys.write", {"name": "ann"}, on_question=on_question) == {"result": "ann"}


def breaks(_question: Question) -> Answer:
    raise KeyError("tty")


def exits(_question: Question) -> Answer:
    raise SystemExit(1)


async def is_cancelled(_question: Question) -> Answer:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("on_question", "why"),
    [
        (breaks, "asking failed with KeyError: 'tty'"),
        (exits, "asking failed with SystemExit: 1"),
        (is_cancelled, "asking failed with CancelledError"),
        (lambda _: "maybe", "asking failed with InvalidAnswer: 'maybe' is no answer"),
        (lambda _: None, "asking failed with TypeError"),
        (lambda _: "deny", "a person said no"),
    ],
    ids=["breaks", "exits", "is_cancelled", "unknown", "none", "no"],
)
async def test_an_answer_that_is_no_yes_is_a_no(on_question: OnQuestion, why: str, glados_app: AppFactory) -> None:
    app = await open_app(glados_app)

    with pytest.raises(PermissionDenied, match=r"toys\.write was not allowed: ") as caught:
        await app.call("toys.write", {"name": "ann"}, on_question=on_question)
    assert why in caught.value.message
    assert app.permissions.pending() == []


async def test_a_question_tells_everything_that_a_person_needs(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    with app.bus.subscribe() as events:
        calling = asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question="wait"))
        told = (await next_of(events, PermissionRequested)).payload()
        [question] = app.permissions.pending()
        app.permissions.answer(question.id, "once")

    assert told == question.to_dict()
    assert (told["tool_id"], told["input"]) == ("toys.write", {"name": "ann", "size": 1})
    assert (told["text"], told["session_rule"]) == ("Write ann?", "toys.write(owner=ANN)")
    assert told["why"] == "toys.write may destroy something and the permission mode is 'default'"
    assert await calling == {"result": "ann"}


async def test_of_two_answers_the_second_is_told_that_it_comes_late(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    with app.bus.subscribe() as events:
        calling = asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question="wait"))
        id = (await next_of(events, PermissionRequested)).payload()["id"]
        app.permissions.answer(id, "once", principal="ann")
        with pytest.raises(QuestionAnswered, match="was answered before"):
            app.permissions.answer(id, "deny")
        granted = await next_of(events, PermissionGranted)

    assert granted.payload() == {"id": id, "answer": "once", "principal": "ann"}
    assert await calling == {"result": "ann"}


async def test_an_answer_races_with_the_function_that_asks(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    asking = asyncio.Event()

    async def slow(_question: Question) -> Answer:
        asking.set()
        await asyncio.Event().wait()
        return "deny"

    calling = asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question=slow))
    await asking.wait()
    app.permissions.answer(app.permissions.pending()[0].id, "once")

    assert await calling == {"result": "ann"}


def test_unknown_questions_and_answers_are_named() -> None:
    service = PermissionService(PermissionsSettings())

    with pytest.raises(QuestionNotFound, match="no question 'q1'"):
        service.answer("q1", "once")
    with pytest.raises(InvalidAnswer, match="'yes' is no answer: give one of once, session, deny"):
        service.answer("q1", "yes")  # pyright: ignore[reportArgumentType]


async def test_a_question_that_nobody_answers_in_time_is_denied_and_a_late_answer_is_told_so(
    glados_app: AppFactory,
) -> None:
    app = await open_app(glados_app, timeout=0.01)
    with app.bus.subscribe() as events, pytest.raises(PermissionDenied, match=r"nobody answered within 0\.01 s"):
        await app.call("toys.write", {"name": "ann"}, on_question="wait")
    refused = await next_of(events, PermissionRefused)

    assert refused.principal == "glados"
    with pytest.raises(QuestionAnswered, match="was closed unanswered before"):
        app.permissions.answer(refused.question_id, "once")


async def answer_all(app: App, session: str, prompt: str, answer: Answer) -> int:
    """Run a prompt and answer its questions; gives how many there were."""
    asked: list[Question] = []

    def on_question(question: Question) -> Answer:
        asked.append(question)
        return answer

    await app.run(prompt, session=session, on_question=on_question)
    return len(asked)


async def test_an_answer_for_the_session_holds_in_that_session_for_what_was_asked(glados_app: AppFactory) -> None:
    ann, bob = call("toys.write", name="ann"), call("toys.write", name="bob")
    app = await open_app(glados_app, ann, "1", ann, "2", bob, "3", ann, "4")
    first, second = await app.create_session(), await app.create_session()

    assert await answer_all(app, first.id, "one", "session") == 1
    assert await answer_all(app, first.id, "again", "deny") == 0
    assert await answer_all(app, first.id, "another name", "deny") == 1
    assert await answer_all(app, second.id, "another session", "deny") == 1


async def test_an_answer_once_holds_once(glados_app: AppFactory) -> None:
    ann = call("toys.write", name="ann")
    app = await open_app(glados_app, ann, "1", ann, "2")
    session = await app.create_session()

    assert await answer_all(app, session.id, "one", "once") == 1
    assert await answer_all(app, session.id, "again", "once") == 1


async def test_a_star_that_the_model_wrote_is_no_wildcard_in_the_rule_of_the_session(glados_app: AppFactory) -> None:
    star, ann = call("toys.write", name="*"), call("toys.write", name="ann")
    app = await open_app(glados_app, star, "1", star, "2", ann, "3")
    session = await app.create_session()

    assert await answer_all(app, session.id, "one", "session") == 1
    assert await answer_all(app, session.id, "the same", "deny") == 0
    assert await answer_all(app, session.id, "another", "deny") == 1


async def test_what_was_allowed_for_a_session_dies_with_it(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, call("toys.write", name="ann"), "1")
    session = await app.create_session()
    await answer_all(app, session.id, "one", "session")
    fields = {"name": "ann", "size": "1", "owner": "ANN"}

    assert app.permissions.decide(session.id, "toys.write", CHANGES, fields).effect == "allow"
    await app.delete_session(session.id)
    assert app.permissions.decide(session.id, "toys.write", CHANGES, fields).effect == "ask"


async def test_a_deny_rule_wins_over_an_answer_for_the_session(glados_app: AppFactory) -> None:
    service = PermissionService(PermissionsSettings(deny=["toys.write(name=bob)"]))
    question = Question("q", "s", None, "c", "toys.write", {}, "", "", "", Rule("allow", "toys.write", {}, "session"))
    service.open(question)
    service.answer("q", "session")

    assert service.decide("s", "toys.write", CHANGES, {"name": "ann"}).effect == "allow"
    assert service.decide("s", "toys.write", CHANGES, {"name": "bob"}).effect == "deny"
    assert service.decide(None, "toys.write", CHANGES, {"name": "ann"}).effect == "ask"
