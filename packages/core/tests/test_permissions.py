from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from glados.core import (
    Agent,
    App,
    ConfigurationError,
    InvalidAnswer,
    InvalidSetting,
    MemorySessionStore,
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
    Rights,
    Rule,
    RuleNotFound,
    RuleStore,
    Services,
    StoredRule,
    ToolContext,
    ToolFlags,
    ToolResultPart,
    tool,
)
from glados.core.questions import Answer
from glados.core.rules import Effect, Mode, Source, decide
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


@pytest.mark.parametrize(
    ("mode", "reads", "changes"),
    [("default", "allow", "ask"), ("plan", "allow", "deny"), ("auto", "allow", "deny"), ("bypass", "allow", "ask")],
)
def test_in_a_tainted_session_nothing_is_changed_without_a_person(mode: Mode, reads: Effect, changes: Effect) -> None:
    effects = [decide((), mode, "toys.write", flags, {}, tainted=True).effect for flags in (READS, CHANGES, DESTROYS)]

    assert effects == [reads, changes, changes]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_an_allow_rule_asks_before_changes_in_a_tainted_session_unless_it_says_otherwise(mode: Mode) -> None:
    plain, brave = Rule.parse("toys.*", "allow"), Rule.parse("toys.write even_if_tainted", "allow")

    assert decide([plain], mode, "toys.write", CHANGES, {}, tainted=True).effect == "ask"
    assert decide([plain], mode, "toys.write", READS, {}, tainted=True).effect == "allow"
    for given in ([brave], [plain, brave], [brave, plain]):
        assert decide(given, mode, "toys.write", CHANGES, {}, tainted=True).effect == "allow"
    denied = [brave, Rule.parse("toys.*", "deny")]
    assert decide(denied, mode, "toys.write", CHANGES, {}, tainted=True).effect == "deny"
    project = Rule.parse("toys.* even_if_tainted", "allow", "project")
    assert decide([plain, project], mode, "toys.write", CHANGES, {}, tainted=True).effect == "ask"


def test_a_question_in_a_tainted_session_says_that_it_is_tainted() -> None:
    rule = Rule.parse("toys.*", "allow")

    assert "holds untrusted content" in decide((), "bypass", "toys.write", CHANGES, {}, tainted=True).why
    assert "does not say even_if_tainted" in decide([rule], "bypass", "toys.write", CHANGES, {}, tainted=True).why


@pytest.mark.parametrize(
    ("mode", "ceilings", "effect"),
    [
        ("bypass", ["default"], "ask"),
        ("bypass", ["plan"], "deny"),
        ("bypass", [None, "default", None], "ask"),
        ("default", ["bypass"], "ask"),
        ("plan", ["bypass", "default"], "deny"),
        ("default", ["auto", "default"], "deny"),
    ],
)
def test_of_the_mode_and_its_ceilings_the_strictest_counts(
    mode: Mode, ceilings: list[Mode | None], effect: Effect
) -> None:
    rights = [Rights(ceiling) for ceiling in ceilings]

    assert decide((), mode, "toys.write", CHANGES, {}, rights=rights).effect == effect


def test_the_rules_of_a_ceiling_only_tighten() -> None:
    def under(*ceilings: Rights) -> Effect:
        return decide(rules("allow"), "default", "toys.write", CHANGES, {}, rights=ceilings).effect

    assert under(Rights(rules=tuple(rules("deny")))) == "deny"
    assert under(Rights(), Rights(rules=tuple(rules("ask")))) == "ask"
    assert decide((), "plan", "toys.write", CHANGES, {}, rights=[Rights(rules=tuple(rules("allow")))]).effect == "deny"


@pytest.mark.parametrize("given", [["ask"], ["ask", "allow"]], ids=str)
def test_a_decision_tells_whether_a_rule_asks(given: list[Effect]) -> None:
    assert decide(rules(*given), "default", "toys.write", CHANGES, {}).by_rule
    assert not decide((), "default", "toys.write", CHANGES, {}).by_rule
    assert not decide(rules("allow"), "default", "toys.write", CHANGES, {}, tainted=True).by_rule


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


@pytest.mark.parametrize(
    "text", ["", "toys.write(", "toys.write(a=1) or", "Toys", "toys write", "(a=1)", "toys.write even_if_tainted or"]
)
def test_a_rule_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no rule: write 'tool-id'") as caught:
        Rule.parse(text, "allow")
    assert repr(text) in caught.value.message


@pytest.mark.parametrize("field", ["name", "=a"])
def test_a_field_of_a_rule_that_cannot_be_read_is_named(field: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"'{field}' in the rule .* is no field: write field=value"):
        Rule.parse(f"toys.write({field})", "allow")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("toys.write( name=a,size=*)", "toys.write(name=a, size=*)"),
        ("toys.write  even_if_tainted ", "toys.write even_if_tainted"),
        ("toys.write(a=1)even_if_tainted", "toys.write(a=1) even_if_tainted"),
    ],
)
def test_a_rule_is_written_as_it_is_read(text: str, written: str) -> None:
    rule = Rule.parse(text, "allow")

    assert str(rule) == written
    assert rule.even_if_tainted == ("even_if_tainted" in text)


@pytest.mark.parametrize("effect", ["ask", "deny"])
def test_only_rules_that_allow_can_say_even_if_tainted(effect: Effect) -> None:
    with pytest.raises(ConfigurationError, match="only rules that allow can"):
        Rule.parse("toys.write even_if_tainted", effect)


@tool(
    "toys.write",
    open_world=False,
    permission=lambda input: PermissionRequest({"owner": input.name.upper()}, f"Write {input.name}?"),
)
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
    ("name", "value"),
    [
        ("MODE", "yolo"),
        ("ALLOW", "Not a rule"),
        ("DENY", "toys.write(name)"),
        ("ASK", "toys.write even_if_tainted"),
        ("TIMEOUT", "0"),
    ],
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
    with pytest.raises(InvalidAnswer, match="'yes' is no answer: give one of once, session, always, deny"):
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


class Kept:
    """A rule store that outlives the app, and can be told to fail."""

    def __init__(self) -> None:
        self.rules: dict[str, StoredRule] = {}
        self.fails = False

    async def load(self, session_id: str | None = None) -> list[StoredRule]:
        return [stored for stored in self.rules.values() if stored.session_id in (None, session_id)]

    async def add(self, stored: StoredRule) -> None:
        if self.fails:
            raise OSError("disk full")
        self.rules[stored.id] = stored

    async def remove(self, id: str) -> bool:
        return self.rules.pop(id, None) is not None

    async def forget_session(self, session_id: str) -> None:
        self.rules = {id: stored for id, stored in self.rules.items() if stored.session_id != session_id}


async def open_with(
    glados_app: AppFactory,
    store: RuleStore,
    *replies: Any,
    sessions: MemorySessionStore | None = None,
    **permissions: Any,
) -> App:
    def services(services: Services) -> None:
        services.provide(RuleStore, lambda: store, replace=True)

    settings = {"permissions": permissions}
    model = ScriptedModel(*replies)
    plugins = [plugin_of(write)]
    return await glados_app(plugins=plugins, model=model, settings=settings, services=services, store=sessions)


ANN, BOB = call("toys.write", name="ann"), call("toys.write", name="bob")


async def test_an_answer_for_good_holds_in_every_session_and_after_a_restart(glados_app: AppFactory) -> None:
    store = Kept()
    app = await open_with(glados_app, store, ANN, "1", ANN, "2", BOB, "3")
    first, second = await app.create_session(), await app.create_session()

    assert await answer_all(app, first.id, "one", "always") == 1
    assert await answer_all(app, second.id, "another session", "deny") == 0
    assert await answer_all(app, second.id, "another name", "once") == 1
    await glados_app.close()

    app = await open_with(glados_app, store, ANN, "4")
    assert await answer_all(app, (await app.create_session()).id, "after a restart", "deny") == 0


async def test_answers_for_a_session_are_stored_with_who_gave_them_and_hold_after_a_restart(
    glados_app: AppFactory,
) -> None:
    store, sessions = Kept(), MemorySessionStore()
    app = await open_with(glados_app, store, ANN, "1", BOB, "2", sessions=sessions)
    session = await app.create_session()
    await answer_all(app, session.id, "one", "session")
    await answer_all(app, session.id, "two", "deny")
    await glados_app.close()

    app = await open_with(glados_app, store, [ANN, BOB], "3", ANN, "4", sessions=sessions)
    assert await answer_all(app, session.id, "after a restart", "once") == 0
    allowed, denied = await app.permissions.rules(session.id)
    assert [(each.rule.effect, each.principal, each.session_id) for each in (allowed, denied)] == [
        ("allow", "local", session.id),
        ("deny", "local", session.id),
    ]
    await app.permissions.revoke(allowed.id)
    assert await answer_all(app, session.id, "it is asked again", "once") == 1
    await app.delete_session(session.id)
    assert store.rules == {}


async def test_a_rule_given_for_good_says_who_gave_it_and_when(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    with app.bus.subscribe() as events:
        calling = asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question="wait"))
        asked = (await next_of(events, PermissionRequested)).question
        app.permissions.answer(asked["id"], "always", principal="ann")
    await calling
    [stored] = await app.permissions.rules()

    assert stored.rule == Rule("allow", "toys.write", {"owner": "ANN"}, "user", exact=True)
    assert stored.created_at >= asked["created_at"]
    assert stored.to_dict() == {
        "id": stored.id,
        "effect": "allow",
        "rule": "toys.write(owner=ANN)",
        "principal": "ann",
        "created_at": stored.created_at,
        "session_id": None,
    }


async def test_a_rule_that_is_revoked_asks_again_here_and_after_a_restart(glados_app: AppFactory) -> None:
    store = Kept()
    app = await open_with(glados_app, store, ANN, "1", ANN, "2")
    session = await app.create_session()
    await answer_all(app, session.id, "one", "always")
    [stored] = await app.permissions.rules()

    await app.permissions.revoke(stored.id)
    assert (await app.permissions.rules(), store.rules) == ([], {})
    assert await answer_all(app, session.id, "again", "once") == 1
    with pytest.raises(RuleNotFound, match=f"no rule '{stored.id}'"):
        await app.permissions.revoke(stored.id)


async def test_the_same_answer_for_good_makes_one_rule(glados_app: AppFactory) -> None:
    app = await open_app(glados_app)
    with app.bus.subscribe() as events:
        calls = [asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question="wait")) for _ in range(2)]
        asked = [(await next_of(events, PermissionRequested)).question["id"] for _ in calls]
        for id in asked:
            app.permissions.answer(id, "always")
    await asyncio.gather(*calls)

    assert len(await app.permissions.rules()) == 1


async def test_a_store_that_fails_costs_neither_the_call_nor_the_rule_of_this_process(
    glados_app: AppFactory, caplog: pytest.LogCaptureFixture
) -> None:
    store = Kept()
    store.fails = True
    app = await open_with(glados_app, store)

    assert await app.call("toys.write", {"name": "ann"}, on_question=lambda _: "always") == {"result": "ann"}
    assert "'allow toys.write(owner=ANN)' holds only until glados stops: The rule store raised OSError" in caplog.text
    assert await app.call("toys.write", {"name": "ann"}) == {"result": "ann"}
    assert [str(stored.rule) for stored in await app.permissions.rules()] == ["toys.write(owner=ANN)"]


async def test_an_answer_for_good_is_kept_though_its_call_is_aborted_at_once(glados_app: AppFactory) -> None:
    store = Kept()
    app = await open_with(glados_app, store)
    with app.bus.subscribe() as events:
        calling = asyncio.create_task(app.call("toys.write", {"name": "ann"}, on_question="wait"))
        id = (await next_of(events, PermissionRequested)).question["id"]
        app.permissions.answer(id, "always")
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    assert len(store.rules) == 1


async def test_what_a_person_denied_is_not_asked_again_in_that_session(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ANN, "1", ANN, "2", BOB, "3", ANN, "4")
    first, second = await app.create_session(), await app.create_session()

    assert await answer_all(app, first.id, "one", "deny") == 1
    assert await answer_all(app, first.id, "again", "once") == 0
    last = (await app.sessions.entries(first.id))[-3].to_dict()["payload"]["parts"][0]
    assert last["code"] == "permission_denied"
    assert "a person said no to the same before in this session" in last["text"]
    assert await answer_all(app, first.id, "another name", "once") == 1
    assert await answer_all(app, second.id, "another session", "once") == 1


@tool("toys.draw", open_world=False)
async def draw(shape: dict[str, int], times: int = 1) -> int:
    """Change something, and say nothing more about it."""
    return times


async def test_a_denial_of_a_tool_that_names_no_fields_is_of_that_input(glados_app: AppFactory) -> None:
    square = call("toys.draw", shape={"a": 1, "b": 2})
    same = call("toys.draw", times=1, shape={"b": 2, "a": 1})
    other = call("toys.draw", shape={"a": 1, "b": 3})
    model = ScriptedModel(square, "1", same, "2", other, "3")
    app = await glados_app(plugins=[plugin_of(draw)], model=model)
    session = await app.create_session()

    assert await answer_all(app, session.id, "one", "deny") == 1
    assert await answer_all(app, session.id, "the same", "once") == 0
    assert await answer_all(app, session.id, "another", "once") == 1


async def test_a_denial_holds_though_the_tool_is_allowed_for_the_session_later(glados_app: AppFactory) -> None:
    square, line = call("toys.draw", shape={"a": 4}), call("toys.draw", shape={"a": 1})
    model = ScriptedModel(square, "1", line, "2", [line, square], "3")
    app = await glados_app(plugins=[plugin_of(draw)], model=model)
    session = await app.create_session()
    await answer_all(app, session.id, "one", "deny")
    await answer_all(app, session.id, "two", "session")
    result = await app.run("three", session=session.id)

    assert [step.code for step in result.steps if step.kind == "tool"] == [None, "permission_denied"]


async def test_only_a_person_denies_for_the_session(glados_app: AppFactory) -> None:
    app = await open_app(glados_app, ANN, "1", ANN, "2", ANN, "3", ANN, "4", timeout=0.01)
    session = await app.create_session()
    for on_question in ("deny", "wait", breaks):
        await app.run("nobody says no", session=session.id, on_question=on_question)

    assert await answer_all(app, session.id, "now somebody is there", "once") == 1


@tool("toys.delegate", read_only=True, open_world=False)
async def delegate(ctx: ToolContext) -> str:
    """Let a child agent work."""
    return (await ctx.run(Agent(name="child", rights=Rights(rules=(Rule("deny", "toys.draw"),))), "Write.")).text


async def test_what_was_denied_in_a_session_is_denied_to_the_agents_that_it_starts(glados_app: AppFactory) -> None:
    square = call("toys.draw", shape={})
    model = ScriptedModel(ANN, "1", call("toys.delegate"), [ANN, BOB, square], "Child.", "2")
    app = await glados_app(
        plugins=[plugin_of(write, draw, delegate)], model=model, settings={"permissions": {"allow": ["toys.draw"]}}
    )
    session = await app.create_session()
    await answer_all(app, session.id, "one", "deny")

    assert await answer_all(app, session.id, "let somebody else do it", "once") == 1
    results = [part for message in model.requests[4].messages for part in message.parts]
    codes = [part.code for part in results if isinstance(part, ToolResultPart)]
    assert codes == ["permission_denied", None, "permission_denied"]


async def test_fields_are_only_made_for_rules_that_look_at_them() -> None:
    class Watched(dict[str, str]):
        def get(self, *_: Any) -> Any:
            raise AssertionError("looked")

        __getitem__ = __contains__ = get

    service = PermissionService(PermissionsSettings(deny=["other.tool(name=a)"], allow=["toys.*"]))

    assert service.decide("s", "toys.write", CHANGES, Watched()).effect == "allow"
