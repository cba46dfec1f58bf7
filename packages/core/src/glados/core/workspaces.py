"""A workspace: the folder that a session works in, and the instructions in it that count once a person trusts it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from glados.core.cutting import shortened
from glados.core.messages import well_formed

INSTRUCTIONS_FILE = "AGENTS.md"
MAX_FILE_BYTES = 1_000_000  # a larger file is no instruction to an agent, and is left out
MAX_FILE_CHARS = 32_000  # of one file, in the prompt
MAX_FILES = 8  # the nearest ones
_MAX_KNOWN = 256  # files whose text is kept


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder; until a person trusts it, nothing in it is read as an instruction or a setting."""

    path: Path
    trusted: bool = False


class InstructionFiles:
    """Files of instructions, each read again only when it has changed."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def text(self, path: Path) -> str:
        """What a file says, cut at its limit; nothing if there is no such file or it cannot be read as text.

        It is read here and now: the file is small and local, and a thread would cost more than the reading.
        """
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE_BYTES:
                return ""
            version = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._read.get(path)
            if known is not None and known[0] == version:
                return known[1]
            text = path.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff").strip()
        except OSError:
            self._read.pop(path, None)
            return ""
        text = shortened(well_formed(text), MAX_FILE_CHARS, f"characters of {path.name} are left out")
        if len(self._read) >= _MAX_KNOWN:
            self._read.clear()
        self._read[path] = (version, text)
        return text

    def of(self, workspace: Workspace | None) -> list[tuple[Path, str]]:
        """The instructions of a workspace, from its repository's root down to it; none unless it is trusted."""
        if workspace is None or not workspace.trusted:
            return []
        folders = _up_to_the_root(workspace.path.resolve())
        found = [(folder / INSTRUCTIONS_FILE, self.text(folder / INSTRUCTIONS_FILE)) for folder in folders]
        return [(path, text) for path, text in found if text][:MAX_FILES][::-1]


def _up_to_the_root(folder: Path) -> list[Path]:
    """The folder and those above it in its repository, the nearest first; outside a repository the folder alone.

    A repository above the folder counts only if it belongs to the folder's owner: anybody can make one in /tmp.
    """
    above = [folder, *folder.parents]
    try:
        owner = folder.stat().st_uid
        for number, candidate in enumerate(above):
            mark = candidate / ".git"
            if mark.exists():
                return above[: number + 1] if mark.stat().st_uid == owner else [folder]
    except OSError:
        pass  # a folder that cannot be looked at holds nothing that we could read
    return [folder]
