"""Artifacts: whole results of which the model was shown a part, to be read on from an offset."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from glados.core.cutting import boundary
from glados.core.errors import ToolError


class ArtifactsSettings(BaseModel):
    """How much of long results is kept to be read on."""

    model_config = ConfigDict(defer_build=True)  # made when it is first used, not at import

    max_number: int = Field(default=1_000, ge=0, description="Long results that are kept; the oldest give way.")
    max_bytes: int = Field(default=64_000_000, ge=0, description="Bytes that kept results may take together.")


class ArtifactNotFound(ToolError):
    """No artifact has that id, or it had to give way to newer ones."""

    code = "artifact_not_found"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an artifact, ending with a line or a word."""

    text: str
    offset: int
    total: int
    untrusted: bool

    @property
    def end(self) -> int:
        """The offset of what follows."""
        return self.offset + len(self.text)


def piece_of(text: str, offset: int, limit: int, untrusted: bool) -> Piece:
    """At most `limit` characters of a text from `offset` on."""
    start = min(max(offset, 0), len(text))
    return Piece(text[start : boundary(text, start, max(limit, 1))], start, len(text), untrusted)


def artifact_not_found(id: str) -> ArtifactNotFound:
    """The error of every store."""
    return ArtifactNotFound(
        f"There is no artifact {id!r}: it was dropped for newer ones, or never was. Call its tool again.", id=id
    )


class ArtifactStore(Protocol):
    """Where artifacts are kept; a plugin that stores them provides another one."""

    async def put(self, session_id: str | None, call_id: str, tool_id: str, text: str, untrusted: bool) -> str | None:
        """Keep a text and give its id, which cannot be guessed; None if it is too large to be kept."""
        ...

    async def read(self, id: str, offset: int, limit: int) -> Piece:
        """At most `limit` characters from `offset` on."""
        ...

    async def forget_session(self, session_id: str) -> None:
        """Drop what belongs to a session that is deleted."""
        ...


@dataclass(frozen=True, slots=True)
class _Artifact:
    session_id: str | None
    text: str
    untrusted: bool


class MemoryArtifactStore:
    """Artifacts that last as long as the process, the newest ones that fit."""

    def __init__(self, settings: ArtifactsSettings | None = None) -> None:
        self._settings = settings or ArtifactsSettings()
        self._kept: dict[str, _Artifact] = {}
        self._bytes = 0

    async def put(self, session_id: str | None, call_id: str, tool_id: str, text: str, untrusted: bool) -> str | None:
        """Keep a text; the oldest ones give way to it."""
        size, limits = sys.getsizeof(text), self._settings
        if size > limits.max_bytes or not limits.max_number:
            return None
        while self._kept and (len(self._kept) >= limits.max_number or self._bytes + size > limits.max_bytes):
            self._drop(next(iter(self._kept)))
        id = secrets.token_hex(8)
        self._kept[id] = _Artifact(session_id, text, untrusted)
        self._bytes += size
        return id

    async def read(self, id: str, offset: int, limit: int) -> Piece:
        """At most `limit` characters from `offset` on."""
        artifact = self._kept.get(id)
        if artifact is None:
            raise artifact_not_found(id)
        return piece_of(artifact.text, offset, limit, artifact.untrusted)

    async def forget_session(self, session_id: str) -> None:
        """Drop what belongs to a session."""
        for id in [id for id, artifact in self._kept.items() if artifact.session_id == session_id]:
            self._drop(id)

    def _drop(self, id: str) -> None:
        self._bytes -= sys.getsizeof(self._kept.pop(id).text)
