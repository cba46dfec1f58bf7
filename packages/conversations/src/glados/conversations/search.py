"""Searching prompts and answers: the index names candidates, and each of them is looked at before it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from glados.conversations.logs import number_of
from glados.conversations.rows import ENTRY_COLUMNS, entries_of
from glados.conversations.search_index import MOST_GRAMS, add_to_index, gram_numbers, grams_of, missing, plain
from glados.conversations.settings import ConversationsSettings
from glados.core.searching import best, hit, words_of
from glados.core.sessions import Found
from glados.database import Connection, DatabaseService

_ROWS = (
    f"SELECT {', '.join(f'e.{column}' for column in ENTRY_COLUMNS.split(', '))}, s.id, s.title"
    f" FROM conversations_entries e JOIN conversations_sessions s ON s.number = e.session"
)
_WITHIN = "(e.session = ? OR CAST(? AS BIGINT) IS NULL)"
_INDEXED = {
    "sqlite": f"{_ROWS} JOIN conversations_search ON conversations_search.rowid = e.number"
    f" WHERE conversations_search MATCH ? AND {_WITHIN} ORDER BY conversations_search.rowid DESC LIMIT ?",
    "postgresql": f"{_ROWS} JOIN conversations_search x ON x.number = e.number"
    f" WHERE x.grams @> ?::integer[] AND {_WITHIN} ORDER BY x.number DESC LIMIT ?",
}
_NEWEST = f"{_ROWS} WHERE {_WITHIN} ORDER BY e.number DESC LIMIT ?"


class Search:
    """Finds messages in all sessions or in one."""

    def __init__(self, database: DatabaseService, settings: ConversationsSettings) -> None:
        self._database = database
        self._settings = settings

    async def __call__(self, text: str, limit: int, session_id: str | None) -> list[Found]:
        """Messages with all of these words, the best first."""
        words = words_of(text)
        step = self._settings.search_step
        while pieces := await self._database.query(lambda connection: missing(connection, step)):
            await self._database.commit(lambda connection, pieces=pieces: add_to_index(connection, pieces))

        def read(connection: Connection) -> list[Found]:
            session = None if session_id is None else number_of(connection, session_id)
            rows = self._candidates(connection, words, session) if words else []
            return best(_hits(rows, words), limit)

        return await self._database.query(read)

    def _candidates(self, connection: Connection, words: Sequence[str], session: int | None) -> list[Any]:
        """Rows that may be meant, the newest first; words too short for the index are looked for in the newest rows."""
        within = (session, session)
        grams = sorted({gram for word in words for gram in grams_of(plain(word))})[:MOST_GRAMS]
        if not grams:
            return connection.execute(_NEWEST, (*within, self._settings.search_scan)).fetchall()
        if connection.kind == "sqlite":
            wanted: Any = " AND ".join('"{}"'.format(gram.replace('"', '""')) for gram in grams)
        else:
            wanted = gram_numbers(grams)
        return connection.execute(
            _INDEXED[connection.kind], (wanted, *within, self._settings.search_candidates)
        ).fetchall()


def _hits(rows: Sequence[Any], words: Sequence[str]) -> Iterator[tuple[int, Found]]:
    for *row, session_id, title in rows:
        [entry] = entries_of(session_id, [tuple(row)])
        found = hit(entry, title, words)
        if found is not None:
            yield found
