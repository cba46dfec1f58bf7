"""SqlSessionStore: sessions in tables, on SQLite or PostgreSQL; what has returned is on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from glados.conversations.appending import Append
from glados.conversations.charges import add_charges, costs_of
from glados.conversations.deletion import delete_session, leases_below
from glados.conversations.listing import Listing
from glados.conversations.logs import (
    branch_rows,
    find,
    has_entry,
    insert_log,
    insert_session,
    insert_tags,
    number_of,
    read_rows,
    read_session,
)
from glados.conversations.open_runs import Holder, leases_in
from glados.conversations.order import take_turn
from glados.conversations.rows import (
    SESSION_COLUMNS,
    EncodedDraft,
    EntryRow,
    entries_of,
    is_storable,
    session_of,
    storable,
)
from glados.conversations.search import Search
from glados.conversations.settings import ConversationsSettings
from glados.core.branches import check_log, copied
from glados.core.errors import SessionNotFound
from glados.core.sessions import (
    Draft,
    Entry,
    Found,
    ModelCost,
    OpenRun,
    Order,
    RunStart,
    Session,
    entry_not_found,
    new_id,
    session_not_found,
    session_works,
    timestamp,
)
from glados.database import Connection, DatabaseService

T = TypeVar("T")


class SqlSessionStore:
    """Sessions that outlast the process."""

    def __init__(self, database: DatabaseService, settings: ConversationsSettings | None = None) -> None:
        self._database = database
        self._search = Search(database, settings or ConversationsSettings())
        self._holder = Holder(database)

    async def create(
        self, *, title: str | None = None, parent_id: str | None = None, id: str | None = None, tags: Sequence[str] = ()
    ) -> Session:
        """Begin a session."""
        now = timestamp()
        session = Session(id or new_id(), title, now, now, parent_id, tags=tuple(dict.fromkeys(tags)))

        def change(connection: Connection) -> Session:
            take_turn(connection)
            if parent_id is not None:
                number_of(connection, parent_id)
            insert_session(connection, session)
            return read_session(connection, session.id)

        return await self._database.commit(change)

    async def get(self, session_id: str) -> Session:
        """One session."""
        return await self._database.query(lambda connection: read_session(connection, session_id))

    async def list(
        self,
        *,
        limit: int = 50,
        before: str | None = None,
        order: Order = "created",
        roots: bool = False,
        tag: str | None = None,
        title: str | None = None,
    ) -> list[Session]:
        """Sessions, the newest first, behind the one of id `before`."""
        return await self._database.query(Listing(limit, before, order, roots, tag, title))

    async def children(self, session_id: str) -> list[Session]:
        """The sessions of the agents that a session started, the oldest first."""
        query = f"SELECT {SESSION_COLUMNS} FROM conversations_sessions WHERE parent_id = ? ORDER BY number"
        values = (storable(session_id),)
        return await self._database.query(lambda connection: [*map(session_of, connection.execute(query, values))])

    async def append(
        self, session_id: str, drafts: Sequence[Draft], *, opens: RunStart | None = None
    ) -> Sequence[Entry]:
        """Number the drafts and add them behind the session's head, with their charges and the run's mark."""
        if not is_storable(session_id):
            raise session_not_found(session_id)
        held = self._holder.held_by(drafts)
        lease = "" if opens is None else await self._holder.lease_id()
        append = Append(session_id, [EncodedDraft(draft) for draft in drafts], opens, lease, held)
        if opens is None:
            entries = await self._database.commit(append)
        else:
            with self._holder.holding(opens, lease):
                entries = await self._database.commit(append)
        self._holder.ended(drafts)
        return entries

    async def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        """The log behind a number, in order, all branches together."""

        def read(connection: Connection) -> list[Entry]:
            rows = read_rows(connection, number_of(connection, session_id), max(after, 0), limit)
            return entries_of(session_id, rows)

        return await self._database.query(read)

    async def branch(self, session_id: str) -> Sequence[Entry]:
        """The entries from the first to the session's head."""
        return await self._database.query(lambda connection: _branch(connection, session_id)[1])

    async def rename(self, session_id: str, title: str) -> Session:
        """Give a session another title."""
        title = storable(title)
        return await self._change(session_id, "title = ?, title_lower = ?", (title, title.lower()))

    async def tag(self, session_id: str, tags: Sequence[str]) -> Session:
        """Give a session these tags instead of those that it has."""
        kept = list(dict.fromkeys(storable(tag) for tag in tags))

        def change(connection: Connection, number: int) -> None:
            connection.execute("DELETE FROM conversations_tags WHERE session = ?", (number,))
            insert_tags(connection, number, kept)

        return await self._change(session_id, "tags = ?", (json.dumps(kept),), change)

    async def switch(self, session_id: str, entry_id: str | None) -> Session:
        """Let the next entry follow this one instead of the head."""

        def open_there(connection: Connection) -> set[str]:
            return leases_in(connection, number_of(connection, session_id))

        dead = await self._holder.dead_among(await self._database.query(open_there))

        def check(connection: Connection, number: int) -> None:
            if not leases_in(connection, number) <= dead:
                raise session_works(session_id)
            if entry_id is not None and not has_entry(connection, number, entry_id):
                raise entry_not_found(session_id, entry_id)

        return await self._change(session_id, "head = ?", (entry_id,), check)

    async def fork(self, session_id: str, *, at: str | None = None, title: str | None = None) -> Session:
        """A new session with a copy of the branch."""
        old, branch = await self._database.query(lambda connection: _branch(connection, session_id, at))
        now = timestamp()
        session = Session(
            new_id(), title or old.title, now, now, tags=old.tags, forked_from=old.id, tainted=old.tainted
        )
        entries = copied(branch, session.id)
        session = replace(session, seq=len(entries), head=entries[-1].id if entries else None)

        def change(connection: Connection) -> Session:
            take_turn(connection)
            number_of(connection, session_id)
            insert_log(connection, insert_session(connection, session), entries)
            return read_session(connection, session.id)

        return await self._database.commit(change)

    async def delete(self, session_id: str) -> None:
        """Delete a session and those below it in one step."""
        leases = await self._database.query(lambda connection: leases_below(connection, session_id))
        allowed = {lease for lease in leases if self._holder.has(lease)} | await self._holder.dead_among(leases)
        await self._database.commit(lambda connection: delete_session(connection, session_id, allowed))

    async def search(self, text: str, *, limit: int = 20, session_id: str | None = None) -> list[Found]:
        """Prompts and answers with all of these words, the best first."""
        return await self._search(text, limit, session_id)

    async def costs(self, session_id: str) -> list[ModelCost]:
        """What was spent in a session and below it, by model."""
        return await self._database.query(lambda connection: costs_of(connection, number_of(connection, session_id)))

    async def restore(self, logs: Sequence[tuple[Session, Sequence[Entry]]]) -> list[Session]:
        """Bring sessions back as they were exported, in one step."""
        for session, entries in logs:
            check_log(session, entries)

        def change(connection: Connection) -> list[Session]:
            take_turn(connection)
            for session, entries in logs:
                parent_id = _present(connection, session.parent_id)
                number = insert_session(connection, replace(session, parent_id=parent_id))
                insert_log(connection, number, entries)
                add_charges(connection, number, [charge for entry in entries for charge in entry.charges])
            return [read_session(connection, session.id) for session, _ in logs]

        return await self._database.commit(change)

    async def open_runs(self, session_id: str | None = None) -> list[OpenRun]:
        """The runs that have not ended, of one session or of all."""
        return await self._holder.open_runs(session_id)

    async def adopt(self, run_id: str) -> bool:
        """Take over a run whose process is dead."""
        return await self._holder.adopt(run_id)

    async def _change(
        self,
        session_id: str,
        assignments: str,
        values: Sequence[Any],
        besides: Callable[[Connection, int], None] | None = None,
    ) -> Session:
        """Change columns of a session's row."""

        def change(connection: Connection) -> Session:
            take_turn(connection)
            number = number_of(connection, session_id)
            if besides is not None:
                besides(connection, number)
            query = f"UPDATE conversations_sessions SET {assignments} WHERE number = ?"
            connection.execute(query, (*values, number))
            return read_session(connection, session_id)

        return await self._database.commit(change)


def _branch(connection: Connection, session_id: str, at: str | None = None) -> tuple[Session, list[Entry]]:
    """A session and the entries from its first to one of them, or to its head."""
    number, *row = find(connection, session_id, f"number, {SESSION_COLUMNS}")
    session = session_of(row)
    rows: list[EntryRow] = branch_rows(read_rows(connection, number), at or session.head)
    if at is not None and not rows:
        raise entry_not_found(session_id, at)
    return session, entries_of(session_id, rows)


def _present(connection: Connection, session_id: str | None) -> str | None:
    """The session's id if there is one."""
    try:
        return session_id if session_id is not None and number_of(connection, session_id) else None
    except SessionNotFound:
        return None
