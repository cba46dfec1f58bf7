"""Which plugins are found, which are left out, and in which order they start."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import BaseModel

from glados.core import App, ConfigurationError, Plugin, PluginRecord, hookimpl, installed
from glados.core.testing import AppFactory

LOOSE = {"plugins": {"strict": False}}


def record(app: App, id: str) -> PluginRecord:
    return next(record for record in app.plugins if record.id == id)


def plugin(id: str, *, requires: Any = (), after: Any = (), log: list[str] | None = None) -> type[Plugin]:
    class Made(Plugin):
        @hookimpl
        async def setup(self) -> None:
            if log is not None:
                log.append(f"setup {id}")

        @hookimpl
        async def teardown(self) -> None:
            if log is not None:
                log.append(f"teardown {id}")

    Made.id, Made.requires, Made.after = id, requires, after
    return Made


async def test_a_plugin_is_found_by_its_entry_point_with_its_version_and_distribution(site: Any) -> None:
    site.good("toys")
    async with site.open() as app:
        assert record(app, "toys").to_dict() == {
            "id": "toys",
            "version": "1.2",
            "distribution": "glados-toys",
            "state": "enabled",
            "reason": None,
            "requires": [],
        }
        assert await app.call("toys.ping", {}) == {"result": "pong"}


async def test_a_plugin_that_is_switched_off_is_never_imported(site: Any) -> None:
    site.module("toys", "raise RuntimeError('imported')")
    async with site.open(TOYS_ENABLED="false") as app:
        assert record(app, "toys").state == "disabled"
        assert record(app, "toys").reason == "switched off by environment variable TOYS_ENABLED"
    assert "glados_toys" not in sys.modules


async def test_plugins_load_loads_only_those_and_imports_no_other(site: Any) -> None:
    site.good("toys")
    site.module("cards", "raise RuntimeError('imported')")
    async with site.open(PLUGINS_LOAD=" toys ,") as app:
        assert record(app, "toys").state == "enabled"
        assert (record(app, "cards").state, record(app, "cards").reason) == ("disabled", "not named in PLUGINS_LOAD")
    assert "glados_cards" not in sys.modules


async def test_plugins_load_with_an_unknown_id_says_which_there_are(site: Any) -> None:
    site.good("toys")
    with pytest.raises(ConfigurationError, match=r"PLUGINS_LOAD names 'dcie', which is not installed: .*toys"):
        async with site.open(PLUGINS_LOAD="dcie"):
            pass


async def test_a_distribution_with_unreadable_entry_points_does_not_hide_the_others(site: Any) -> None:
    site.good("toys")
    broken = site.folder / "junk-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Name: junk\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[glados]\nno equals sign\n[[[\n")
    assert "toys" in [candidate.id for candidate in installed()]
    async with site.open() as app:
        assert await app.call("toys.ping", {}) == {"result": "pong"}


async def test_plugins_start_behind_what_they_require_and_follow_and_stop_in_reverse(glados_app: AppFactory) -> None:
    log: list[str] = []
    c = plugin("c", requires=("b",), log=log)
    b = plugin("b", after=("d", "not-there"), log=log)
    await glados_app(plugins=[c, plugin("a", log=log), b, plugin("d", log=log)])
    assert log == ["setup d", "setup b", "setup c", "setup a"]
    await glados_app.close()
    assert log[4:] == ["teardown a", "teardown c", "teardown b", "teardown d"]


@pytest.mark.parametrize(("requires", "after"), [(("b",), ()), ((), ("b",))], ids=["requires", "after"])
async def test_a_circle_is_printed_and_costs_only_those_in_it(
    glados_app: AppFactory, requires: tuple[str, ...], after: tuple[str, ...]
) -> None:
    a = plugin("a", requires=requires, after=after)
    plugins = [a, plugin("b", requires=("c",)), plugin("c", requires=("a",)), plugin("d"), plugin("e", requires=("a",))]
    app = await glados_app(plugins=plugins, settings=LOOSE)
    for id in "abc":
        assert record(app, id).reason == "Its requirements go in a circle: a → b → c → a."
    assert record(app, "d").state == "enabled"
    assert record(app, "e").reason == "It requires the plugin 'a', which failed."


async def test_a_plugin_that_requires_itself_is_a_circle(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin("a", requires=("a",))], settings=LOOSE)
    assert record(app, "a").reason == "Its requirements go in a circle: a → a."


async def test_what_is_required_has_to_be_installed_enabled_and_working(site: Any) -> None:
    site.plugin("needs-none", "requires = ('nothing',)")
    site.plugin("needs-off", "requires = ('off',)")
    site.plugin("needs-bad", "requires = ('bad',)")
    site.plugin("needs-needs", "requires = ('needs-bad',)")
    site.module("bad", "1 / 0")
    site.good("off")
    site.good()
    async with site.open(OFF_ENABLED="no") as app:
        reasons = {record.id: record.reason for record in app.plugins if record.state == "failed"}
        assert reasons == {
            "bad": "The import of plugin 'bad' raised ZeroDivisionError: division by zero.",
            "needs-none": "It requires the plugin 'nothing', which is not installed.",
            "needs-off": "It requires the plugin 'off', which is disabled.",
            "needs-bad": "It requires the plugin 'bad', which failed.",
            "needs-needs": "It requires the plugin 'needs-bad', which failed.",
        }
        assert [tool.id for tool in await app.tools()] == ["good.ping"]


async def test_of_two_plugins_with_one_id_the_second_fails_and_names_the_first(site: Any) -> None:
    site.good("toys")
    site.plugin("toys", distribution="other-toys")
    async with site.open() as app:
        states = [(record.distribution, record.state, record.reason) for record in app.plugins if record.id == "toys"]
        assert states == [
            ("glados-toys", "enabled", None),
            ("other-toys", "failed", "Two plugins have the id 'toys'; the other one is of glados-toys 1.2."),
        ]
        assert await app.call("toys.ping", {}) == {"result": "pong"}


async def test_two_plugins_with_one_id_can_be_switched_off(site: Any) -> None:
    site.good("toys")
    site.plugin("toys", distribution="other-toys")
    async with site.open(TOYS_ENABLED="0", PLUGINS_STRICT="true") as app:
        assert [record.state for record in app.plugins if record.id == "toys"] == ["disabled", "disabled"]


async def test_of_two_plugins_that_claim_one_variable_the_second_fails(glados_app: AppFactory) -> None:
    class WebSettings(BaseModel):
        fetch_max_characters: int = 1

    class WebFetchSettings(BaseModel):
        max_characters: int = 2

    class Web(Plugin[WebSettings]):
        id = "web"

    class WebFetch(Plugin[WebFetchSettings]):
        id = "web-fetch"

    app = await glados_app(plugins=[Web, WebFetch], settings=LOOSE)
    assert record(app, "web").state == "enabled"
    assert record(app, "web-fetch").reason == (
        "It claims the variable WEB_FETCH_MAX_CHARACTERS, which belongs to plugin 'web'."
    )


@pytest.mark.parametrize("id", ["model", "server", "permissions", "plugins", "openai", "glados"])
async def test_a_plugin_cannot_take_a_section_of_glados_itself(glados_app: AppFactory, id: str) -> None:
    app = await glados_app(plugins=[plugin(id)], settings=LOOSE)
    assert record(app, id).reason == f"The section [{id}] belongs to glados itself: choose another id."


@pytest.mark.parametrize("id", ["Dice", "web_fetch", "web fetch", "-web", "web-", "web--fetch", "9lives", "wëb", "a.b"])
async def test_an_id_of_another_shape_is_refused(glados_app: AppFactory, id: str) -> None:
    app = await glados_app(plugins=[plugin(id), plugin("fine")], settings=LOOSE)
    assert record(app, id).reason == f"{id!r} is no plugin id: use lower-case letters, digits and single hyphens."
    assert record(app, "fine").state == "enabled"


async def test_a_class_without_an_id_is_told_to_get_one(glados_app: AppFactory) -> None:
    class Nameless(Plugin):
        pass

    app = await glados_app(plugins=[Nameless], settings=LOOSE)
    assert app.plugins[0].reason == "Nameless has no id: write one in the class."


@pytest.mark.parametrize("value", ["database", None, 5, (1,), {"database": 1}])
async def test_requires_that_is_no_tuple_of_ids_fails_that_plugin_alone(glados_app: AppFactory, value: Any) -> None:
    app = await glados_app(plugins=[plugin("a", requires=value), plugin("b")], settings=LOOSE)
    assert record(app, "a").reason == f"Made.requires is {value!r}: write a tuple of plugin ids."
    assert record(app, "b").state == "enabled"
