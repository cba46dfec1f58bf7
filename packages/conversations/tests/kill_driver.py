"""Conversations in processes that are killed: `python kill_driver.py URL FOLDER KILLS SEED`.

Everything is imported once and each process is a fork, so that a kill costs what it takes to open an app. A child works
on some sessions at once and writes each entry that was acknowledged to a pipe; it is killed after a random number of
them and a random while. Then the tables are compared with the pipe; at the end, when all runs were let to end, every
call must have exactly one result, and no call that may not be repeated may have been made twice.
"""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
from pydantic import SecretStr

from glados.conversations import SqlSessionStore, payloads
from glados.conversations.logs import number_of, read_rows, read_session
from glados.conversations.plugin import ConversationsPlugin
from glados.conversations.rows import entries_of
from glados.core import (
    App,
    Draft,
    Entry,
    Message,
    ModelDelta,
    ModelDone,
    ModelRequest,
    PermissionRequested,
    Plugin,
    Prepare,
    RunStart,
    Services,
    SessionStore,
    TextDelta,
    ToolResultPart,
    Usage,
    hookimpl,
    tool,
)
from glados.core.errors import QuestionAnswered, QuestionNotFound, SessionBusy
from glados.core.messages import ToolCallPart
from glados.core.model import ToolCallDelta
from glados.core.sessions import new_id
from glados.database import DatabasePlugin, DatabaseService, DatabaseSettings, backends, migrations
from glados.database.drivers import open_driver
from glados.database.urls import parse_url

URL, FOLDER, KILLS, SEED = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
SESSIONS = [f"session-{number}" for number in range(4)]
MADE = FOLDER / "made"  # a line for each time that a call that changes something was made
LONGEST = 0.02  # seconds between the last entry that is read and the kill
LOADED = (backends, migrations, psycopg)  # before the forks
payloads.decoded_messages(())


def made(call: str) -> str:
    descriptor = os.open(MADE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{call}\n".encode())
    os.close(descriptor)
    return "made"


@tool("toys.look", read_only=True, concurrent=True, open_world=False)
async def look(call: str) -> str:
    """Look at something."""
    return "seen"


@tool("toys.put", idempotent=True, open_world=False)
async def put(call: str) -> str:
    """Put something in its place."""
    return "put"


@tool("toys.make", open_world=False)
async def make(call: str) -> str:
    """Make one more."""
    return made(call)


class ToysPlugin(Plugin):
    """The tools, and a store that tells the parent what it has acknowledged."""

    id = "toys"
    requires = ("conversations",)
    pipe = -1

    @hookimpl
    async def setup(self, services: Services) -> None:
        store = TellingStore(services.get(DatabaseService))
        store.pipe = self.pipe
        services.provide(SessionStore, lambda: store, replace=True)

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        prepare.tools += [look, put, make]


class TellingStore(SqlSessionStore):
    pipe = -1

    async def append(
        self, session_id: str, drafts: Sequence[Draft], *, opens: RunStart | None = None
    ) -> Sequence[Entry]:
        entries = await super().append(session_id, drafts, opens=opens)
        lines = "".join(f"{session_id} {entry.seq} {entry.id}\n" for entry in entries)
        os.write(self.pipe, lines.encode())  # shorter than what a pipe takes as a whole
        return entries


class Model:
    """Its next answer depends on nothing but the history: two rounds of calls, then the end."""

    name = "model"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        prompt = max(number for number, message in enumerate(request.messages) if message.role == "user")
        answers = sum(message.role == "assistant" for message in request.messages[prompt:])
        yield TextDelta(f"answer {answers}")
        for name in ("toys.look", "toys.put", "toys.make") if answers < 2 else ():
            id = new_id()
            yield ToolCallDelta(ToolCallPart(id, name, f'{{"call": "{id}"}}'))
        yield ModelDone("tool_calls" if answers < 2 else "end", Usage(1, 1), self.name)

    async def close(self) -> None:
        """Nothing is held."""


async def answer_questions(app: App) -> None:
    with app.bus.subscribe() as events:
        for question in app.permissions.pending():
            app.permissions.answer(question.id, "once")
        async for event in events:
            if isinstance(event, PermissionRequested):
                with suppress(QuestionAnswered, QuestionNotFound):
                    app.permissions.answer(event.question["id"], "once")


async def work(app: App, session_id: str, prompts: int | None) -> None:
    with suppress(Exception):
        await app.sessions.create(id=session_id)
    while prompts is None or prompts > 0:
        try:
            await app.run("go", session=session_id, on_question="wait")
        except SessionBusy:  # the server has not heard of the last kill yet
            await asyncio.sleep(LONGEST)
            continue
        prompts = None if prompts is None else prompts - 1


async def child(pipe: int, prompts: int | None) -> None:
    ToysPlugin.pipe = pipe
    settings = {
        "database": {"url": URL},
        "glados": {"data_dir": FOLDER},
        "plugins": {"strict": True},
    }
    plugins = [DatabasePlugin, ConversationsPlugin, ToysPlugin]
    async with App.open(settings=settings, plugins=plugins, model=Model(), environ={}, recovers=True) as app:
        answering = asyncio.create_task(answer_questions(app))
        await asyncio.gather(*(work(app, session_id, prompts) for session_id in SESSIONS))
        answering.cancel()


def start(prompts: int | None = None) -> tuple[int, int]:
    """A child that works, and the pipe on which it tells what was acknowledged."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            signal.alarm(60)  # one that is stuck is ended, and found out by its status
            asyncio.run(child(writer, prompts))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    return pid, reader


def read_lines(pipe: int, wanted: int | None) -> list[str]:
    """At least so many lines, or all until the pipe ends."""
    data = b""
    while wanted is None or data.count(b"\n") < wanted:
        some = os.read(pipe, 65536)
        if not some:
            break
        data += some
    return data.decode().splitlines()


def kill_one(chance: random.Random) -> list[str]:
    """Start a child and kill it somewhere; what it had acknowledged."""
    pid, pipe = start()
    lines = read_lines(pipe, chance.randint(1, 40))
    select.select([], [], [], chance.uniform(0, LONGEST))
    os.kill(pid, signal.SIGKILL)
    lines += read_lines(pipe, None)
    os.close(pipe)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == -signal.SIGKILL, f"a child ended with {status} before it was killed"
    return lines


def stored() -> dict[str, list[Entry]]:
    """Every session's log as it is in the tables; its numbers must be whole."""
    url = parse_url(URL)
    connection = open_driver(url, DatabaseSettings(url=SecretStr(URL)), write=False)
    found: dict[str, list[Entry]] = {}
    try:
        connection.begin()
        for (session_id,) in connection.execute("SELECT id FROM conversations_sessions").fetchall():
            session = read_session(connection, session_id)
            entries = entries_of(session_id, read_rows(connection, number_of(connection, session_id)))
            assert [entry.seq for entry in entries] == list(range(1, session.seq + 1)), f"a gap in {session_id}"
            assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries)][: len(entries)]
            assert session.head == (entries[-1].id if entries else None)
            found[session_id] = entries
        connection.rollback()
    finally:
        connection.close()
    return found


def check(acknowledged: dict[tuple[str, int], str], logs: dict[str, list[Entry]]) -> None:
    """Nothing that was acknowledged is lost or has changed its place."""
    for (session_id, seq), id in acknowledged.items():
        log = logs.get(session_id, [])
        found = log[seq - 1].id if len(log) >= seq else None
        assert found == id, f"entry {seq} of {session_id} was acknowledged and is lost"
    for log in logs.values():
        results = Counter(part.call_id for entry in log for part in results_of(entry))
        assert all(count == 1 for count in results.values()), f"calls with more than one result: {results}"


def results_of(entry: Entry) -> list[ToolResultPart]:
    parts = entry.payload.parts if isinstance(entry.payload, Message) else ()
    return [part for part in parts if isinstance(part, ToolResultPart)]


def check_end(logs: dict[str, list[Entry]]) -> None:
    """Every call has its one result, every run its end, and nothing was made twice."""
    made = Counter(MADE.read_text().splitlines())
    assert all(count == 1 for count in made.values()), f"made more than once: {made.most_common(3)}"
    for session_id, log in logs.items():
        calls = Counter(part.id for entry in log if isinstance(entry.payload, Message) for part in entry.payload.calls)
        results = Counter(part.call_id for entry in log for part in results_of(entry))
        assert calls == results, f"calls without a result in {session_id}"
        begun = {entry.run_id for entry in log}
        ended = Counter(entry.run_id for entry in log if entry.kind == "run_end")
        assert ended == Counter(begun), f"runs without one end in {session_id}"
    charges = sum(len(entry.charges) for log in logs.values() for entry in log)
    print(f"{sum(map(len, logs.values()))} entries, {charges} charges, {len(made)} made once")


def main() -> None:
    chance = random.Random(SEED)
    acknowledged: dict[tuple[str, int], str] = {}
    for number in range(KILLS + 1):
        if number < KILLS:
            lines = kill_one(chance)
        else:
            pid, pipe = start(prompts=1)
            lines = read_lines(pipe, None)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        for line in lines:
            session_id, seq, id = line.split()
            acknowledged[session_id, int(seq)] = id
        check(acknowledged, stored())
    check_end(stored())
    print(f"{KILLS} kills, {len(acknowledged)} entries acknowledged")


main()
