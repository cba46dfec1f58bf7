"""Searching prompts and answers: the index names candidates, and each of them is looked at before it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from glados.conversations.logs import number_of
from glados.conversations.rows import ENTRY_COLUMNS, entries_of
from glados.conversations.search_index import MOST_GRAMS, add_to_index, grams_of, lexemes, missing, plain
from glados.conversations.settings import ConversationsSettings
from glados.core.searching import best, hit, words_of
from glados.core.sessions import Found
from glados.database import Connection, DatabaseService

_ROWS = (
    f"SELECT {', '.join(f'e.{column}' for column in ENTRY_COLUMNS.split(', '))}, s.id, s.title"
    f" FROM conversations_entries e JOIN conversations_sessions s ON s.number = e.session"
)
_BY_GRAMS = {
    "sqlite": f"{_ROWS} JOIN conversations_search ON conversations_search.rowid = e.number"
    " WHERE conversations_search MATCH ?",
    "postgresql": f"{_ROWS} JOIN conversations_search x ON x.number = e.number WHERE x.grams @@ ?::tsquery",
}
_OF_SESSION = " AND e.session = ?"
# FTS5 gives its rows in that order by itself, which an order by the entries' number would not let it do.
_ORDERS = {"sqlite": "conversations_search.rowid", "postgresql": "x.number"}


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
            return best(_hits(self._candidates(connection, words, session), words), limit) if words else []

        return await self._database.query(read)

    def _candidates(self, connection: Connection, words: Sequence[str], session: int | None) -> Iterable[Any]:
        """Rows that may be meant, the newest first; words too short for the index are looked for in the newest rows."""
        grams = sorted({gram for word in words for gram in grams_of(plain(word))})[:MOST_GRAMS]
        settings, values = self._settings, list[Any]()
        if grams:
            query, order, most = _BY_GRAMS[connection.kind], _ORDERS[connection.kind], settings.search_candidates
            values.append(_wanted(connection, grams))
        else:
            query, order, most = f"{_ROWS} WHERE true", "e.number", settings.search_scan
        if session is not None:
            query += _OF_SESSION
            values.append(session)
        return connection.execute(f"{query} ORDER BY {order} DESC LIMIT ?", (*values, most))


def _wanted(connection: Connection, grams: Sequence[str]) -> Any:
    if connection.kind == "postgresql":
        return " & ".join(f"'{lexeme}'" for lexeme in lexemes(grams))
    return " AND ".join('"{}"'.format(gram.replace('"', '""')) for gram in grams)


def _hits(rows: Iterable[Any], words: Sequence[str]) -> Iterator[tuple[int, Found]]:
    for *row, session_id, title in rows:
        [entry] = entries_of(session_id, [tuple(row)])
        found = hit(entry, title, words)
        if found is not None:
            yield found
