"""Reading exported sessions back. The lines may be anybody's, so everything that others rely on is checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from glados.core.branches import moved
from glados.core.child_ids import ChildId
from glados.core.errors import InvalidInput, RequestError
from glados.core.export_lines import ChargeLine, CompactionLine, EntryLine, MessageLine, PayloadLine, SessionLine
from glados.core.exports import VERSION, ExportedSession
from glados.core.messages import Usage, message_from_dict
from glados.core.sessions import Charge, Entry, Session, new_id
from glados.core.strict_json import UncleanJson, strict_json

MAX_LINE_BYTES = 16_000_000  # a message with pictures is one line
MAX_LINES = 1_000_000
_SHOWN = 60  # characters of a value that is wrong
M = TypeVar("M", bound=BaseModel)


class LogReader:
    """Takes one line after the other; what is wrong is told with the number of its line."""

    def __init__(self) -> None:
        self._number = 0
        self._logs: list[ExportedSession] = []
        self._sessions: set[str] = set()  # the ids of all sessions so far
        self._known: set[str] = set()  # and those of all entries
        self._session: SessionLine | None = None
        self._entries: list[Entry] = []
        self._own: set[str] = set()  # the ids of this session's entries

    def read(self, lines: Iterable[bytes]) -> list[ExportedSession]:
        """All sessions of the lines, each behind its parent."""
        for line in lines:
            self._number += 1
            self._take(line)
        self._end_session()
        if not self._logs:
            raise RequestError("There is no session in what should be imported: give it what an export wrote.")
        return self._logs

    def _take(self, line: bytes) -> None:
        if self._number > MAX_LINES:
            self._refuse(f"there are more than {MAX_LINES} lines, import fewer sessions at once")
        if len(line) > MAX_LINE_BYTES:
            self._refuse(f"it is longer than {MAX_LINE_BYTES} bytes")
        if not line.strip():
            return
        try:
            value = strict_json(line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line, zeros=True)
        except UncleanJson as error:
            self._refuse(str(error).replace(" at line 1, column", " at column"))
        if not isinstance(value, dict):
            self._refuse("it is no JSON object")
        data = cast("dict[str, Any]", value)
        match data.get("type"):
            case "session":
                self._begin_session(data)
            case "entry":
                self._add_entry(data)
            case other:
                self._refuse(f"its type is {_shown(other)}, and only 'session' and 'entry' are known")

    def _begin_session(self, data: Mapping[str, Any]) -> None:
        self._end_session()
        if data.get("version") != VERSION:
            self._refuse(f"its version is {_shown(data.get('version'))}, and only {VERSION} is known here")
        line = self._checked(SessionLine, data)
        if line.id in self._sessions:
            self._refuse(f"the session {line.id!r} was there before")
        if line.parent_id is not None and line.parent_id not in self._sessions:
            self._refuse(f"its parent_id is {line.parent_id!r}, and no such session stands before it")
        self._sessions.add(line.id)
        self._session, self._entries, self._own = line, [], set()

    def _add_entry(self, data: Mapping[str, Any]) -> None:
        session = self._session
        if session is None:
            self._refuse("it is an entry, and no session stands before it")
        line = self._checked(EntryLine, data)
        if line.session_id != session.id:
            self._refuse(f"its session_id is {line.session_id!r}, but it stands in the session {session.id!r}")
        if line.seq != len(self._entries) + 1:
            self._refuse(f"its seq is {line.seq}, but {len(self._entries) + 1} comes next")
        if line.id in self._known:
            self._refuse(f"the entry {line.id!r} was there before")
        self._check_reference("parent_id", line.parent_id)
        self._entries.append(self._entry(line))
        self._known.add(line.id)
        self._own.add(line.id)

    def _entry(self, line: EntryLine) -> Entry:
        payload: Any = line.payload
        if line.kind == "message":
            self._checked(MessageLine, {"payload": payload})
            try:
                payload = message_from_dict(payload)
            except InvalidInput as error:
                self._refuse(error.message.rstrip("."))
        elif line.kind == "compaction":
            compaction = self._checked(CompactionLine, {"payload": payload}).payload
            self._check_reference("first_kept_id", compaction.first_kept_id)
        else:
            self._checked(PayloadLine, {"payload": payload})
        return Entry(
            line.id,
            line.session_id,
            line.seq,
            line.parent_id,
            line.kind,
            payload,
            line.created_at,
            line.run_id,
            line.principal,
            line.origin_id,
            tuple(map(_charge, line.charges)),
        )

    def _end_session(self) -> None:
        line = self._session
        if line is None:
            return
        if line.seq != len(self._entries):
            self._refuse(f"the session {line.id!r} ends here with {len(self._entries)} entries instead of {line.seq}")
        if line.head is not None and line.head not in self._own:
            self._refuse(f"the head of the session {line.id!r} is {line.head!r}, which is none of its entries")
        self._logs.append(ExportedSession(_session(line), tuple(self._entries)))
        self._session = None

    def _check_reference(self, name: str, id: str | None) -> None:
        if id is not None and id not in self._own:
            self._refuse(f"its {name} is {id!r}, and no such entry stands before it")

    def _checked(self, kind: type[M], data: Mapping[str, Any]) -> M:
        try:
            return kind.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = ".".join(map(str, first["loc"]))
            self._refuse(f"{path} is {_shown(first['input'])}: {first['msg']}")

    def _refuse(self, what: str) -> NoReturn:
        raise RequestError(f"Line {self._number} cannot be imported: {what}.", line=self._number)


def renamed(logs: Iterable[ExportedSession], taken: Collection[str]) -> list[ExportedSession]:
    """The same sessions, those whose ids are taken with new ids for them and for their entries, wherever they stand."""
    logs = list(logs)
    entries = {entry.id: new_id() for log in logs if log.session.id in taken for entry in log.entries}
    sessions = {log.session.id: _new_id(log.session.id, taken, entries) for log in logs}

    def new(ids: Mapping[str, str], id: str | None) -> Any:
        return ids.get(id, id) if id is not None else None

    return [
        ExportedSession(
            replace(
                log.session,
                id=new(sessions, log.session.id),
                parent_id=new(sessions, log.session.parent_id),
                forked_from=new(sessions, log.session.forked_from),
                head=new(entries, log.session.head),
            ),
            [
                replace(
                    entry,
                    id=new(entries, entry.id),
                    session_id=new(sessions, entry.session_id),
                    parent_id=new(entries, entry.parent_id),
                    origin_id=new(entries, entry.origin_id),
                    payload=moved(entry, entries),
                )
                for entry in log.entries
            ],
        )
        for log in logs
    ]


def _new_id(id: str, taken: Collection[str], entries: Mapping[str, str]) -> str:
    """Another id if it is taken, or if it tells of a message that has another one now."""
    child = ChildId.parse(id)
    if child is not None and child.message in entries:
        return str(replace(child, message=entries[child.message]))
    return new_id() if id in taken else id


def _session(line: SessionLine) -> Session:
    """The session of a line; its history came from outside, whoever wrote it."""
    return Session(
        line.id,
        line.title,
        line.created_at,
        line.updated_at,
        line.parent_id,
        line.principal,
        line.seq,
        line.head,
        tuple(line.tags),
        forked_from=line.forked_from,
        tainted=True,
    )


def _charge(line: ChargeLine) -> Charge:
    return Charge(line.model, Usage(**line.usage.model_dump()) if line.usage is not None else None, line.cost)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
