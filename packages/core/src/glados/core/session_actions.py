"""What people do with sessions besides talking: name, tag, fork, switch, find, export and import them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Literal

from glados.core.bus import EventBus
from glados.core.errors import RequestError, SessionNotFound
from glados.core.events import SessionCreated, SessionUpdated
from glados.core.export_lines import MAX_TAG, MAX_TAGS, MAX_TITLE
from glados.core.exports import json_lines
from glados.core.imports import LogReader, renamed
from glados.core.lines import Lines
from glados.core.messages import well_formed
from glados.core.session_markdown import markdown
from glados.core.sessions import Found, ModelCost, Session, SessionStore, session_not_found, session_works
from glados.core.shielding import to_the_end

ExportFormat = Literal["jsonl", "markdown"]
MAX_QUERY = 1_000  # characters of a search
_PAGE = 1_000  # sessions that are looked through at a time
_NAMED = 5  # sessions that an ambiguous id is told with


class SessionActions:
    """The part of the app that works on whole sessions; every change is told to who listens."""

    sessions: SessionStore
    bus: EventBus
    _lines: Lines

    async def create_session(self, title: str | None = None) -> Session:
        """Begin a session."""
        return self._created(await self.sessions.create(title=_title(title) if title else None))

    async def rename_session(self, session_id: str, title: str) -> Session:
        """Give a session another title."""
        return self._updated(await self.sessions.rename(session_id, _title(title)))

    async def tag_session(self, session_id: str, tags: Sequence[str]) -> Session:
        """Give a session these tags instead of those that it has."""
        return self._updated(await self.sessions.tag(session_id, _tags(tags)))

    async def fork_session(self, session_id: str, *, at: str | None = None, title: str | None = None) -> Session:
        """A new session that begins with a copy of this one's branch, up to an entry or to its end."""
        if at is None:
            await self._check_idle(session_id)  # its last answer may not be whole
        return self._created(await self.sessions.fork(session_id, at=at, title=_title(title) if title else None))

    async def switch_branch(self, session_id: str, entry_id: str | None) -> Session:
        """Let a session go on behind another of its entries, or with None from the beginning; nothing is deleted."""
        await self._check_idle(session_id)
        return self._updated(await self.sessions.switch(session_id, entry_id))

    async def latest_session(self) -> Session:
        """The session that was last worked in, apart from those that agents started."""
        latest = await self.sessions.list(order="updated", roots=True, limit=1)
        if not latest:
            raise SessionNotFound("There is no session to go on with: begin one with a prompt.")
        return latest[0]

    async def find_session(self, beginning: str) -> Session:
        """The session of that id, or the only one whose id begins like that."""
        try:
            return await self.sessions.get(beginning)
        except SessionNotFound:
            found = await self._that_begin_with(beginning) if beginning else []
        if not found:
            raise session_not_found(beginning)
        if len(found) > 1:
            ids = ", ".join(session.id for session in found[:_NAMED])
            more = ", …" if len(found) > _NAMED else ""
            raise RequestError(f"More than one session begins with {beginning!r}, give more of its id: {ids}{more}.")
        return found[0]

    async def export_session(self, session_id: str, format: ExportFormat = "jsonl") -> AsyncIterator[str]:
        """A session and those below it in pieces of text: as JSON lines to import, or as Markdown to read."""
        session = await self.sessions.get(session_id)
        return json_lines(self.sessions, session) if format == "jsonl" else markdown(self.sessions, session)

    async def import_sessions(self, lines: Iterable[bytes]) -> list[Session]:
        """Bring exported sessions back, all or none; where an id is taken, the session and its entries get new ones.

        Their history came from outside, so they are tainted.
        """
        logs = await asyncio.to_thread(LogReader().read, lines)
        taken = {log.session.id for log in logs if await self._is_there(log.session.id)}
        coming = [(log.session, log.entries) for log in (renamed(logs, taken) if taken else logs)]
        restored = await to_the_end(self.sessions.restore(coming))
        return [self._created(session) for session in restored]

    async def search(self, text: str, *, limit: int = 20, session_id: str | None = None) -> list[Found]:
        """Prompts and answers with all of these words, in one session or in all."""
        if not text.strip() or len(text) > MAX_QUERY:
            raise RequestError(f"A search needs words, and at most {MAX_QUERY} characters: {text[:40]!r} is none.")
        return await self.sessions.search(well_formed(text), limit=limit, session_id=session_id)

    async def costs(self, session_id: str) -> list[ModelCost]:
        """What was spent in a session and below it, by model."""
        return await self.sessions.costs(session_id)

    async def _check_idle(self, session_id: str) -> None:
        """Refuse while a run works in the session, here or in another process: it reads and writes its branch."""
        runs = await self.sessions.open_runs(session_id)
        if self._lines.tasks(session_id) or any(run.alive for run in runs):
            raise session_works(session_id)

    async def _is_there(self, session_id: str) -> bool:
        try:
            await self.sessions.get(session_id)
        except SessionNotFound:
            return False
        return True

    async def _that_begin_with(self, beginning: str) -> list[Session]:
        """Sessions by the beginning of their ids, no more than have to be named."""
        found: list[Session] = []
        page = await self.sessions.list(limit=_PAGE)
        while page and len(found) <= _NAMED:
            found += [session for session in page if session.id.startswith(beginning)]
            page = await self.sessions.list(limit=_PAGE, before=page[-1].id)
        return found

    def _created(self, session: Session) -> Session:
        self.bus.publish(SessionCreated(session_id=session.id, session=session.to_dict()))
        return session

    def _updated(self, session: Session) -> Session:
        self.bus.publish(SessionUpdated(session_id=session.id, session=session.to_dict()))
        return session


def _title(text: str) -> str:
    title = _in_a_line(text)
    if not title or len(title) > MAX_TITLE:
        raise RequestError(f"A title has 1 to {MAX_TITLE} characters: {title[:40]!r} has {len(title)}.")
    return title


def _tags(tags: Sequence[str]) -> list[str]:
    cleaned = list(dict.fromkeys(map(_in_a_line, tags)))
    for tag in cleaned:
        if not tag or len(tag) > MAX_TAG:
            raise RequestError(f"A tag has 1 to {MAX_TAG} characters: {tag[:40]!r} has {len(tag)}.")
    if len(cleaned) > MAX_TAGS:
        raise RequestError(f"A session has {MAX_TAGS} tags at most: {len(cleaned)} were given.")
    return cleaned


def _in_a_line(text: str) -> str:
    """Text as titles and tags are: one line, that every store and client can take."""
    return " ".join(well_formed(text).replace("\0", " ").split())
