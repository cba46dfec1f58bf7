"""A broken plugin fails alone, says why, leaves nothing behind, and everything else works."""

from __future__ import annotations

import asyncio
import functools
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from textwrap import dedent
from typing import Any

import pytest

from glados.core import App, Plugin, PluginError, PluginRecord, Prepare, ServiceNotFound, Services, ToolError, hookimpl
from glados.core.testing import AppFactory, ScriptedModel, call, plugin_of
from glados.core.tools import tool

LOOSE = {"plugins": {"strict": False}}
QUICK = {"plugins": {"strict": False, "timeout": 0.3}}

MODULES = {
    "import error": (
        "import no_such_module",
        "The import of plugin 'bad' raised ModuleNotFoundError: .*no_such_module",
    ),
    "syntax error": ("def (", "The import of plugin 'bad' raised SyntaxError"),
    "exit at import": ("sys.exit(3)", r"The import of plugin 'bad' called sys\.exit\(3\)\."),
    "base exception": ("raise BaseException('odd')", "The import of plugin 'bad' raised BaseException: odd"),
    "nothing there": ("", "The import of plugin 'bad' raised AttributeError: .*no attribute 'Plug'"),
    "no plugin": ("Plug = 5", r"Its entry point names 5, which is no subclass of glados\.core\.Plugin"),
    "an instance": ("class P(Plugin):\n    id = 'bad'\nPlug = P()", "Its entry point names <.*>, which is no subclass"),
    "another id": (
        "class Plug(Plugin):\n    id = 'worse'",
        r"is named 'bad', but Plug\.id is 'worse': make them equal",
    ),
    "own wrong setting": (
        "from glados.core import InvalidSetting\nraise InvalidSetting('Mine.')",
        "Mine",
    ),
}

BODIES = {
    "misspelt hook": ("@hookimpl\ndef setpu(self, services): ...", "unknown hook 'setpu': did you mean 'setup'"),
    "unknown hook": ("@hookimpl\ndef zzz(self): ...", "unknown hook 'zzz': there are setup, prepare, before_tool"),
    "misspelt argument": (
        "@hookimpl\ndef setup(self, servcies): ...",
        r"Plug\.setup takes servcies: a hook 'setup' takes services",
    ),
    "unmarked hook": ("def setup(self, services): ...", r"Plug\.setup is not marked: write @hookimpl above it"),
    "wrapper": ("@hookimpl(wrapper=True)\ndef setup(self, services):\n    yield", "'setup' is a wrapper"),
    "old wrapper": ("@hookimpl(hookwrapper=True)\ndef setup(self, services):\n    yield", "'setup' is a wrapper"),
    "tryfirst": ("@hookimpl(tryfirst=True)\ndef setup(self, services): ...", "tryfirst or trylast"),
    "trylast": ("@hookimpl(trylast=True)\ndef setup(self, services): ...", "tryfirst or trylast"),
    "specname": ("@hookimpl(specname='setup')\ndef begin(self, services): ...", "a method of another name"),
    "async generator": ("@hookimpl\nasync def setup(self, services):\n    yield", "'setup' has a yield"),
    "constructor": ("def __init__(self):\n    raise KeyError('x')", "The constructor of plugin 'bad' raised KeyError"),
    "constructor exit": ("def __init__(self):\n    sys.exit('no')", r"constructor of .* called sys\.exit\('no'\)"),
    "setup raises": (
        "@hookimpl\nasync def setup(self):\n    1 / 0",
        "'setup' of plugin 'bad' raised ZeroDivisionError",
    ),
    "sync setup raises": ("@hookimpl\ndef setup(self):\n    1 / 0", "'setup' of plugin 'bad' raised ZeroDivisionError"),
    "setup exits": (
        "@hookimpl\nasync def setup(self):\n    sys.exit(1)",
        r"'setup' of plugin 'bad' called sys\.exit\(1\)",
    ),
    "sync setup exits": ("@hookimpl\ndef setup(self):\n    sys.exit(1)", r"plugin 'bad' called sys\.exit\(1\)"),
    "setup cancelled": (
        "@hookimpl\nasync def setup(self):\n    raise asyncio.CancelledError",
        "'setup' of plugin 'bad' raised CancelledError",
    ),
    "prepare raises": ("@hookimpl\nasync def prepare(self):\n    1 / 0", "'prepare' of plugin 'bad' raised ZeroDiv"),
    "prepare exits": (
        "@hookimpl\nasync def prepare(self):\n    sys.exit()",
        r"'prepare' of .* called sys\.exit\(None\)",
    ),
    "no tool": (
        "@hookimpl\ndef prepare(self, prepare):\n    prepare.tools.append(len)",
        "appended <built-in .*> to the",
    ),
    "no text": ("@hookimpl\ndef prepare(self, prepare):\n    prepare.context.append(5)", "appended 5 to the context"),
    "foreign tool": (
        "@hookimpl\ndef prepare(self, prepare):\n    prepare.tools.append(steal)",
        r"Its tool 'good\.ping' does not begin with its own id: name it 'bad\.…'",
    ),
    "tool twice": (
        "@hookimpl\ndef prepare(self, prepare):\n    prepare.tools += [own, own]",
        r"It has two tools with the id 'bad\.own'",
    ),
    "migrations": ("migrations = True", "Plug.migrations is True: write the name of a folder"),
}
TOOLS = """
@tool("good.ping")
async def steal() -> str:
    "Steal."
    return "stolen"

@tool("bad.own")
async def own() -> str:
    "Own."
    return "own"
"""

SLEEP, BUSY = "time.sleep(3600)", "while True: pass"
STUBBORN = "for _ in range(3):\n    try:\n        time.sleep(3600)\n    except {}:\n        pass\ntime.sleep(3600)"
HANGING_MODULES = {
    "sleep": SLEEP,
    "busy loop": BUSY,
    "catches every Exception": STUBBORN.format("Exception"),
    "catches every BaseException": STUBBORN.format("BaseException"),
}
SWALLOW = (
    "while True:\n        try:\n            await asyncio.sleep(3600)\n        except BaseException:\n            pass"
)
HANGING_BODIES = {
    "constructor": ("def __init__(self):\n    time.sleep(3600)", "The constructor"),
    "async setup": ("@hookimpl\nasync def setup(self):\n    await asyncio.sleep(3600)", "The hook 'setup'"),
    "blocking async setup": ("@hookimpl\nasync def setup(self):\n    time.sleep(3600)", "The hook 'setup'"),
    "busy async setup": ("@hookimpl\nasync def setup(self):\n    while True: pass", "The hook 'setup'"),
    "sync setup": ("@hookimpl\ndef setup(self):\n    time.sleep(3600)", "The hook 'setup'"),
    "swallows cancellation": (f"@hookimpl\nasync def setup(self):\n    {SWALLOW}", "The hook 'setup'"),
    "prepare": ("@hookimpl\nasync def prepare(self):\n    await asyncio.sleep(3600)", "The hook 'prepare'"),
}


def record(app: App, id: str) -> PluginRecord:
    return next(record for record in app.plugins if record.id == id)


def assert_told(reason: str | None, pattern: str) -> None:
    assert reason is not None
    assert re.search(pattern, reason), reason


async def works(app: App) -> bool:
    """Whether the plugin beside the broken one works."""
    return [tool.id for tool in await app.tools()] == ["good.ping"] and bool(await app.call("good.ping", {}))


@pytest.mark.parametrize(("source", "reason"), MODULES.values(), ids=MODULES)
async def test_a_module_that_cannot_be_used_fails_alone_and_says_why(site: Any, source: str, reason: str) -> None:
    site.module("bad", source)
    site.good()
    async with site.open() as app:
        assert record(app, "bad").state == "failed"
        assert_told(record(app, "bad").reason, reason)
        assert await works(app)


@pytest.mark.parametrize(("body", "reason"), BODIES.values(), ids=BODIES)
async def test_a_faulty_plugin_fails_alone_and_says_why(site: Any, body: str, reason: str) -> None:
    site.plugin("bad", body, before=TOOLS)
    site.good()
    async with site.open() as app:
        assert record(app, "bad").state == "failed"
        assert_told(record(app, "bad").reason, reason)
        assert await works(app)


@pytest.mark.parametrize("source", HANGING_MODULES.values(), ids=HANGING_MODULES)
async def test_a_module_that_hangs_is_interrupted_at_its_timeout(site: Any, source: str) -> None:
    site.module("bad", source)
    site.good()
    async with site.open(PLUGINS_TIMEOUT="0.3") as app:
        assert record(app, "bad").reason == "The import of plugin 'bad' took longer than 0.3 s."
        assert await works(app)


@pytest.mark.parametrize(("body", "what"), HANGING_BODIES.values(), ids=HANGING_BODIES)
async def test_code_that_hangs_is_left_behind_at_its_timeout(site: Any, body: str, what: str) -> None:
    site.plugin("bad", body)
    site.good()
    async with site.open(PLUGINS_TIMEOUT="0.3") as app:
        assert record(app, "bad").reason == f"{what} of plugin 'bad' took longer than 0.3 s."
        assert await works(app)


@pytest.mark.parametrize("source", ["import no_such_module", "sys.exit(3)"])
async def test_strict_makes_a_broken_plugin_fatal_and_stops_the_others(site: Any, source: str) -> None:
    site.module("bad", source)
    site.good("good", "@hookimpl\nasync def teardown(self, services):\n    self.stopped.append('good')\nstopped = []")
    with pytest.raises(PluginError, match=r"^PLUGINS_STRICT is set and a plugin failed\. bad: The import of plugin"):
        async with site.open(PLUGINS_STRICT="true"):
            pass
    assert sys.modules["glados_good"].Plug.stopped == ["good"]


@pytest.mark.parametrize("ending", ["1 / 0", "sys.exit(1)", "await asyncio.sleep(3600)", "time.sleep(3600)"])
async def test_what_a_plugin_registered_before_it_failed_is_taken_back(site: Any, ending: str) -> None:
    body = f"""
    @hookimpl
    async def setup(self, services):
        services.provide(list, lambda: ["mine"], replace=True)
        services.provide(dict, dict)
        services.add(str, "leak")
        {ending}
    """
    site.good("first", "@hookimpl\ndef setup(self, services):\n    services.provide(list, lambda: ['first'])")
    site.plugin("second", body)
    async with site.open(PLUGINS_TIMEOUT="0.3") as app:
        assert record(app, "second").state == "failed"
        assert app.services.get(list) == ["first"]
        assert app.services.all(str) == []
        with pytest.raises(ServiceNotFound):
            app.services.get(dict)


async def test_an_open_resource_is_closed_when_its_plugin_fails(glados_app: AppFactory) -> None:
    log: list[str] = []

    def resource(name: str) -> Any:
        @asynccontextmanager
        async def opened() -> AsyncGenerator[str]:
            log.append(f"open {name}")
            if name == "third":
                raise OSError("no room")
            yield name
            log.append(f"close {name}")

        return opened

    class Bad(Plugin):
        id = "bad"

        @hookimpl
        async def setup(self, services: Services) -> None:
            for service, name in ((str, "first"), (int, "second"), (float, "third")):
                services.provide(service, resource(name))

    app = await glados_app(plugins=[Bad], settings=LOOSE)
    assert record(app, "bad").reason == "bad: float: OSError: no room"
    assert log == ["open first", "open second", "open third", "close second", "close first"]
    with pytest.raises(ServiceNotFound):
        app.services.get(str)


async def test_a_hook_that_was_left_behind_registers_nothing_afterwards(glados_app: AppFactory) -> None:
    class Late(Plugin):
        id = "late"

        @hookimpl
        async def setup(self, services: Services) -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                services.add(str, "late")

    app = await glados_app(plugins=[Late], settings=QUICK)
    assert record(app, "late").state == "failed"
    assert app.services.all(str) == []


async def test_a_thread_that_was_left_behind_registers_nothing_afterwards(glados_app: AppFactory) -> None:
    going_on, told = threading.Event(), list[Exception]()
    ended = threading.Event()

    class Late(Plugin):
        id = "late"

        @hookimpl
        def setup(self, services: Services) -> None:
            going_on.wait()
            for register in (lambda: services.add(str, "late"), lambda: services.provide(list, list)):
                try:
                    register()
                except PluginError as error:
                    told.append(error)
            ended.set()

    app = await glados_app(plugins=[Late], settings=QUICK)
    going_on.set()
    assert ended.wait(10)
    assert [str(error) for error in told] == [
        "late registers str after it was stopped.",
        "late registers list after it was stopped.",
    ]
    assert app.services.all(str) == []


async def test_prepare_that_raises_later_contributes_nothing_that_time_only(glados_app: AppFactory) -> None:
    faults = [None, RuntimeError("not now"), None]

    class Moody(Plugin):
        id = "moody"

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            prepare.context.append("half")
            if fault := faults.pop(0):
                raise fault
            prepare.tools.append(mood)

    app = await glados_app(plugins=[Moody, plugin_of(ping)])
    assert [tool.id for tool in await app.tools()] == ["good.ping"]
    assert record(app, "moody").state == "enabled"
    assert record(app, "moody").reason == "The hook 'prepare' of plugin 'moody' raised RuntimeError: not now."
    assert [tool.id for tool in await app.tools()] == ["moody.say", "good.ping"]
    assert record(app, "moody").reason is None


async def test_prepare_that_hangs_later_quarantines_the_plugin_and_what_requires_it(glados_app: AppFactory) -> None:
    log, calls = list[str](), list[str]()

    class Moody(Plugin):
        id = "moody"

        @hookimpl
        async def prepare(self, prepare: Prepare) -> None:
            calls.append("prepare")
            if len(calls) > 1:
                await asyncio.sleep(3600)

        @hookimpl
        def teardown(self) -> None:
            log.append("teardown moody")

    class Needs(plugin_of(need)):
        requires = ("moody",)

        @hookimpl
        def teardown(self) -> None:
            log.append("teardown needs")

    app = await glados_app(plugins=[Moody, Needs, plugin_of(ping)], settings=QUICK)
    assert [tool.id for tool in await app.tools()] == ["good.ping"]
    assert record(app, "moody").reason == "The hook 'prepare' of plugin 'moody' took longer than 0.3 s."
    assert record(app, "needs").reason == "It requires the plugin 'moody', which failed."
    assert log == ["teardown needs", "teardown moody"]


@pytest.mark.parametrize("ending", ["1 / 0", "sys.exit(2)", "await asyncio.sleep(3600)", "time.sleep(3600)"])
async def test_teardown_that_fails_does_not_keep_the_others_from_theirs(site: Any, ending: str) -> None:
    site.good("a-good", "@hookimpl\nasync def teardown(self):\n    self.stopped.append(1)\nstopped = []")
    site.plugin("bad", f"@hookimpl\nasync def teardown(self):\n    {ending}")
    async with site.open(PLUGINS_TIMEOUT="0.3") as app:
        assert record(app, "bad").state == "enabled"
    assert sys.modules["glados_a_good"].Plug.stopped == [1]


async def test_hooks_may_leave_out_their_argument_be_plain_and_be_decorated(glados_app: AppFactory) -> None:
    log: list[str] = []

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            log.append(function.__name__)
            return function(*args, **kwargs)

        return wrapper

    class Odd(Plugin):
        id = "odd"

        @hookimpl
        def setup(self) -> None:
            log.append("plain")

        @hookimpl
        @logged
        async def prepare(self, prepare: Prepare) -> None:
            log.append(prepare.purpose)

    await glados_app(plugins=[Odd])
    assert log == ["plain", "prepare", "list"]


async def test_a_tool_that_exits_fails_its_call_alone(glados_app: AppFactory) -> None:
    app = await glados_app(plugins=[plugin_of(leave), plugin_of(ping)], model=ScriptedModel(call("exits.now"), "done"))
    with pytest.raises(ToolError, match=r"exits\.now failed: it called sys\.exit\(7\)"):
        await app.call("exits.now", {})
    assert (await app.run("leave")).text == "done"
    assert await app.call("good.ping", {}) == {"result": "pong"}


def test_the_process_ends_as_usual_after_plugins_exited_hung_and_refused_to_end(site: Any) -> None:
    site.plugin("exits", "@hookimpl\nasync def setup(self):\n    sys.exit(9)")
    site.plugin("thread", "@hookimpl\ndef setup(self):\n    time.sleep(3600)")
    site.plugin("stubborn", f"@hookimpl\nasync def setup(self):\n    {SWALLOW}")
    site.good()
    program = f"""
    import asyncio, sys
    sys.path.insert(0, {str(site.folder)!r})
    from glados.core import App
    async def main():
        environ = {{"PLUGINS_LOAD": "exits,thread,stubborn,good", "PLUGINS_TIMEOUT": "0.3"}}
        async with App.open(environ=environ, settings={{"glados": {{"data_dir": {str(site.data_dir)!r}}}}}) as app:
            print(await app.call("good.ping", {{}}), sorted(r.id for r in app.plugins if r.state == "failed"))
    asyncio.run(main())
    print("ended")
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "{'result': 'pong'} ['exits', 'stubborn', 'thread']\nended\n", done.stderr
    assert done.returncode == 0


async def test_migrations_without_a_database_fail_that_plugin_alone(glados_app: AppFactory) -> None:
    class Tables(Plugin):
        id = "tables"
        migrations = "migrations"

    app = await glados_app(plugins=[Tables, plugin_of(ping)], settings=LOOSE)
    assert record(app, "tables").reason == "It requires the plugin 'database', which is not installed."
    assert record(app, "tables").requires == ("database",)
    assert await works(app)


@tool("good.ping", read_only=True)
async def ping() -> str:
    """Answer."""
    return "pong"


@tool("moody.say")
async def mood() -> str:
    """Say it."""
    return "well"


@tool("needs.it")
async def need() -> str:
    """Need it."""
    return "needed"


@tool("exits.now", read_only=True)
async def leave() -> str:
    """Leave."""
    sys.exit(7)
