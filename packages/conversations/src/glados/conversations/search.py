"""Searching prompts and answers: the index names candidates, and each of them is looked at before it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from glados.conversations.logs import number_of
from glados.conversations.rows import ENTRY_COLUMNS, SEQ_BITS, entries_of, first_number
from glados.conversations.search_index import MOST_GRAMS, add_to_index, gram_numbers, grams_of, missing, plain
from glados.conversations.settings import ConversationsSettings
from glados.core.searching import best, hit, words_of
from glados.core.sessions import Found
from glados.database import Connection, DatabaseService

_ROWS = (
    f"SELECT {', '.join(f'e.{column}' for column in ENTRY_COLUMNS.split(', '))}, s.id, s.title"
    f" FROM conversations_entries e JOIN conversations_sessions s ON s.number = e.number >> {SEQ_BITS}"
)
_INDEXED = {
    "sqlite": f"{_ROWS} JOIN conversations_search ON conversations_search.rowid = e.number"
    " WHERE conversations_search MATCH ? AND conversations_search.rowid >= ? AND conversations_search.rowid < ?"
    " ORDER BY conversations_search.rowid DESC LIMIT ?",
    "postgresql": f"{_ROWS} JOIN conversations_search x ON x.number = e.number"
    " WHERE x.grams @> ?::integer[] AND x.number >= ? AND x.number < ? ORDER BY x.number DESC LIMIT ?",
}
_NEWEST = f"{_ROWS} WHERE e.number >= ? AND e.number < ? ORDER BY e.number DESC LIMIT ?"
_END = (1 << 63) - 1


class Search:
    """Finds messages in all sessions or in one."""

    def __init__(self, database: DatabaseService, settings: ConversationsSettings) -> None:
        self._database = database
        self._settings = settings

    async def __call__(self, text: str, limit: int, session_id: str | None) -> list[Found]:
        """Messages with all of these words, the best first."""
        words = words_of(text)
        while pieces := await self._database.query(missing):
            await self._database.commit(lambda connection, pieces=pieces: add_to_index(connection, pieces))

        def read(connection: Connection) -> list[Found]:
            session = None if session_id is None else number_of(connection, session_id)
            rows = self._candidates(connection, words, session) if words else []
            return best(_hits(rows, words), limit)

        return await self._database.query(read)

    def _candidates(self, connection: Connection, words: Sequence[str], session: int | None) -> list[Any]:
        """Rows that may be meant, the newest first; words too short for the index are looked for in the newest rows."""
        within = (0, _END) if session is None else (first_number(session), first_number(session + 1))
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
