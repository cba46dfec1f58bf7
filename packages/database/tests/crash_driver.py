"""Starts, kills and races processes that migrate; forks, so that each of them costs milliseconds.

Run as `python crash_driver.py kill|race URL FOLDER…`; ends with status 0 if every database came out whole.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from glados.core import Plugin
from glados.database import backends
from glados.database.connections import connect
from glados.database.ledger import read_ledger, relations
from glados.database.migrations import Migrations
from glados.database.settings import DatabaseSettings
from glados.database.urls import parse_url

KILLS = 20
URL = parse_url(sys.argv[2])
SETTINGS = DatabaseSettings(migrate_timeout=20)
PLUGINS: list[type[Plugin[Any]]] = [
    type(f"Plugin{Path(folder).name}", (Plugin,), {"id": Path(folder).name, "migrations": folder})
    for folder in sys.argv[3:]
]
assert backends.load  # loaded before the forks


def start() -> None:
    """What a daemon does with its database before its plugins are set up."""
    migrations = Migrations(URL, SETTINGS)
    migrations.prepare(Event())
    for plugin in PLUGINS:
        migrations.apply(plugin, Event())


def fork(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a start that is stuck is ended, and found out by its status
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(status)
    return child


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def counting(reach: Callable[[int], None]) -> Callable[[Any, str, object], None]:
    """A profiler that tells each call and return in our code and in yoyo's, whose number is the same every time."""
    calls = 0

    def count(frame: Any, event: str, argument: object) -> None:
        nonlocal calls
        if "/glados/database/" in frame.f_code.co_filename or "/yoyo/" in frame.f_code.co_filename:
            calls += 1
            reach(calls)

    return count


def start_and_die(at: int) -> None:
    def reach(calls: int) -> None:
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(counting(reach))
    start()


def count_calls() -> int:
    """How many calls a start makes that applies everything."""
    reader, writer = os.pipe()

    def work() -> None:
        last = 0

        def reach(calls: int) -> None:
            nonlocal last
            last = calls

        sys.setprofile(counting(reach))
        start()
        sys.setprofile(None)
        os.write(writer, str(last).encode())

    assert wait(fork(work)) == 0
    return int(os.read(reader, 100))


def state() -> tuple[set[str], set[str]]:
    """The names of the migrations by their marks, and by their tables; each makes the tables <name>_a and <name>_b."""
    with connect(URL, SETTINGS) as connection:
        marks = set(read_ledger(connection, URL).marks)
        tables = {name for name in relations(connection, URL.kind) if not name.startswith("glados_")}
        rows = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    assert all(count == 1 for count in rows.values()), rows
    whole = {name.removesuffix("_a") for name in tables if name.endswith("_a")}
    assert tables == {f"{name}_{end}" for name in whole for end in "ab"}, tables
    return {mark.partition("-init-")[2] for mark in marks}, whole


def clear() -> None:
    if URL.kind == "sqlite":
        for path in URL.path.parent.glob(f"{URL.path.name}*"):
            path.unlink()
        return
    with connect(URL, SETTINGS) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


def expected() -> set[str]:
    return {path.stem.partition("-init-")[2] for plugin in PLUGINS for path in plugin.migrations_path().glob("*.sql")}


def kill() -> None:
    total = count_calls()
    seen = set[int]()
    for step in range(KILLS):
        clear()
        at = 1 + total * step // KILLS
        assert wait(fork(lambda at=at: start_and_die(at))) == -signal.SIGKILL
        if URL.kind == "postgresql" or URL.path.exists():
            marks, tables = state()
            assert marks == tables, (at, marks, tables)
            seen.add(len(marks))
        # The next one is killed at the same place, which is further on by what the first one had done.
        wait(fork(lambda at=at: start_and_die(at)))
        assert wait(fork(start)) == 0, f"stuck after a kill at call {at} of {total}"
        assert state() == (expected(), expected())
    assert len(seen) > 2, f"the kills hit only {seen}"
    print(f"{KILLS} kills over {total} calls, with {sorted(seen)} migrations applied")


def race() -> None:
    for _ in range(5):
        clear()
        gate, opened = os.pipe()

        def wait_and_start(gate: int = gate, opened: int = opened) -> None:
            os.close(opened)
            os.read(gate, 1)  # ends when the parent closes its side
            start()

        children = [fork(wait_and_start) for _ in range(4)]
        os.close(opened)
        os.close(gate)
        assert [wait(child) for child in children] == [0, 0, 0, 0]
        assert state() == (expected(), expected())


{"kill": kill, "race": race}[sys.argv[1]]()
