"""The search index: derived from the log, and brought up to date before a search, so that an append pays nothing.

It knows every three letters in a row of each prompt and answer, in lower case: a part of a word is found like a whole
one, also in languages that do not part words. SQLite keeps them in FTS5, PostgreSQL in a tsvector.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from glados.conversations.order import take_turn
from glados.conversations.rows import ENTRY_COLUMNS, entries_of
from glados.core.searching import searchable
from glados.database import Connection

GRAM = 3  # letters
MOST_GRAMS = 64  # that one search asks for; what it finds is looked at once more anyway
# Of each message; no setting, because a text is taken out of the index by saying again what was put in.
INDEXED_CHARACTERS = 100_000
LONG_ENTRY = 2_000  # characters; of longer ones fewer are added in a step

_BEHIND = "SELECT number, indexed, seq FROM conversations_sessions WHERE indexed < seq ORDER BY number LIMIT ?"
_ROWS = (
    f"SELECT number, {ENTRY_COLUMNS} FROM conversations_entries"
    " WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
_CLAIM = "UPDATE conversations_sessions SET indexed = ? WHERE number = ? AND indexed = ?"
_ADD = {
    "sqlite": "INSERT INTO conversations_search (rowid, text) VALUES (?, ?)",
    "postgresql": "INSERT INTO conversations_search (number, grams) VALUES (?, array_to_tsvector(?::text[]))",
}
_DROP = "INSERT INTO conversations_search (conversations_search, rowid, text) VALUES ('delete', ?, ?)"
_DROP_ALL = (
    "DELETE FROM conversations_search WHERE number IN (SELECT number FROM conversations_entries WHERE session = ?)"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Texts of one session that the index does not have yet: those behind `indexed`, up to `until`."""

    session: int
    indexed: int
    until: int
    texts: list[tuple[int, str]]


def missing(connection: Connection, step: int) -> list[Piece]:
    """What the index lacks, as much of it as a step of so many entries adds; nothing when it is complete."""
    pieces: list[Piece] = []
    entries, characters = step, step * LONG_ENTRY
    for session, indexed, seq in connection.execute(_BEHIND, (step,)).fetchall():
        rows = connection.execute(_ROWS, (session, indexed, seq, entries)).fetchall()
        texts = list(_texts(rows))
        pieces.append(Piece(session, indexed, rows[-1][1], texts))
        entries -= len(rows)
        characters -= sum(len(text) for _, text in texts)
        if entries <= 0 or characters <= 0:
            break
    return pieces


def add_to_index(connection: Connection, pieces: Sequence[Piece]) -> None:
    """Add what was missing, except what another process was faster with, or what is deleted."""
    take_turn(connection)
    for piece in pieces:
        if connection.execute(_CLAIM, (piece.until, piece.session, piece.indexed)).rowcount == 1 and piece.texts:
            rows = [(number, _indexed_as(connection, text)) for number, text in piece.texts]
            connection.executemany(_ADD[connection.kind], rows)


def drop_from_index(connection: Connection, session: int, indexed: int) -> None:
    """Take the texts of a session out again, of which the index has those up to the number `indexed`."""
    if connection.kind == "postgresql":
        connection.execute(_DROP_ALL, (session,))
    elif known := list(_texts(connection.execute(_ROWS, (session, 0, indexed, indexed)).fetchall())):
        connection.executemany(_DROP, known)


def grams_of(text: str) -> set[str]:
    """Every three letters in a row."""
    return {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}


def lexemes(grams: Iterable[str]) -> list[str]:
    """Grams as PostgreSQL keeps them: of eight letters at most, because all of a text's may take one megabyte.

    Two that share a lexeme only bring a candidate too many.
    """
    return [f"{zlib.crc32(gram.encode()):x}" for gram in grams]


def plain(text: str) -> str:
    """A text as the index knows it; no database can hold a NUL."""
    return text.lower().replace("\0", " ")


def _texts(rows: Sequence[Any]) -> Iterable[tuple[int, str]]:
    for row, entry in zip(rows, entries_of("", [row[1:] for row in rows]), strict=True):
        if text := searchable(entry.payload):
            yield row[0], plain(text[:INDEXED_CHARACTERS])


def _indexed_as(connection: Connection, text: str) -> Any:
    return text if connection.kind == "sqlite" else lexemes(grams_of(text))
