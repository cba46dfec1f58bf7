"""One append: numbers, entries, charges and the run's mark in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from glados.conversations.charges import add_charges
from glados.conversations.order import take_turn
from glados.conversations.rows import INSERT_ENTRY, EncodedDraft
from glados.core.errors import RunLost, SessionBusy
from glados.core.sessions import Entry, RunStart, session_not_found, timestamp
from glados.database import Connection

# `head_before` is what the first of the new entries follows, so that one statement numbers them and tells it.
_NUMBER = (
    "UPDATE conversations_sessions SET seq = seq + ?, head_before = head, head = COALESCE(?, head), updated_at = ?"
    " WHERE id = ? RETURNING number, seq, head_before"
)
_OPEN = (
    "INSERT INTO conversations_runs (session, id, resumable, resumed, lease) VALUES (?, ?, ?, 0, ?)"
    " ON CONFLICT DO NOTHING"
)
_HOLDER = "SELECT lease FROM conversations_runs WHERE id = ?"
_CLOSE = "DELETE FROM conversations_runs WHERE session = ? AND id = ?"


@dataclass(frozen=True, slots=True)
class Append:
    """What is to be appended, encoded already; `held` are the runs in whose name it is done, with their leases."""

    session_id: str
    drafts: Sequence[EncodedDraft]
    opens: RunStart | None
    lease: str
    held: Mapping[str, str]

    def __call__(self, connection: Connection) -> list[Entry]:
        """Do it; done again after a lost race, it does the same."""
        take_turn(connection)
        now, count = timestamp(), len(self.drafts)
        last = self.drafts[-1].id if count else None
        numbered = connection.execute(_NUMBER, (count, last, now, self.session_id)).fetchone()
        if numbered is None:
            raise session_not_found(self.session_id)
        session, seq, head = numbered
        self._check_runs(connection, session)
        entries = self._insert(connection, session, seq - count, head, now)
        for draft in self.drafts:
            if draft.charges:
                add_charges(connection, session, draft.charges)
            if draft.kind == "run_end" and draft.run_id is not None:
                connection.execute(_CLOSE, (session, draft.run_id))
        return entries

    def _check_runs(self, connection: Connection, session: int) -> None:
        opens = self.opens
        if opens is not None:
            opened = connection.execute(_OPEN, (session, opens.id, int(opens.resumable), self.lease))
            if opened.rowcount != 1:
                raise SessionBusy(
                    f"Another run works in session {self.session_id!r}: wait for it.", session_id=self.session_id
                )
        for run_id, lease in self.held.items():
            holder = connection.execute(_HOLDER, (run_id,)).fetchone()
            if holder is None or holder[0] != lease:
                raise RunLost(f"Run {run_id!r} was taken over by another process: leave it to that one.", run_id=run_id)

    def _insert(self, connection: Connection, session: int, seq: int, head: str | None, now: str) -> list[Entry]:
        entries, rows = list[Entry](), list[tuple[object, ...]]()
        for number, draft in enumerate(self.drafts, seq + 1):
            rows.append(draft.row(session, number, head, now))
            entries.append(
                Entry(
                    draft.id,
                    self.session_id,
                    number,
                    head,
                    draft.kind,
                    draft.payload,
                    now,
                    draft.run_id,
                    draft.principal,
                    charges=draft.charges,
                )
            )
            head = draft.id
        if len(rows) == 1:
            connection.execute(INSERT_ENTRY, rows[0])
        elif rows:
            connection.executemany(INSERT_ENTRY, rows)
        return entries
