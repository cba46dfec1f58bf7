"""Pages that were fetched before: a bounded memory of them, the least recently used go first."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from glados.web_fetch.pages import Content, Page
from glados.web_fetch.settings import Mode
from glados.web_fetch.urls import Url

if TYPE_CHECKING:
    from glados.web_fetch.http import Validators

# What an entry takes besides its text, roughly: the objects, the URLs, the headers.
OVERHEAD = 2_000


class Key(NamedTuple):
    """Everything that decides what a fetch gives; how much of it is returned does not."""

    url: Url
    mode: Mode
    content: Content


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A page as it was at one time; every piece of it that is read comes from the same one."""

    page: Page
    hops: tuple[Url, ...]
    status: int
    content_type: str
    body_truncated: bool
    validators: Validators | None = None
    may_be_stored: bool = True

    @property
    def size(self) -> int:
        """How much memory it takes."""
        strings = (self.page.text, self.page.title, *(hop.target for hop in self.hops))
        return OVERHEAD + sum(sys.getsizeof(text) for text in strings)


@dataclass(frozen=True, slots=True)
class _Entry:
    snapshot: Snapshot
    fresh_until: float


class Cache:
    """Snapshots by what was asked; `ttl` says how long one is given without asking the server again."""

    def __init__(self, ttl: float, max_bytes: int, clock: Callable[[], float]) -> None:
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """How much memory all snapshots take."""
        return self._size

    def get(self, key: Key) -> Snapshot | None:
        """What is kept, however old it is."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry.snapshot

    def is_fresh(self, key: Key) -> bool:
        """Whether what is kept may be given without asking the server."""
        entry = self._entries.get(key)
        return entry is not None and self._clock() < entry.fresh_until

    def put(self, key: Key, snapshot: Snapshot) -> None:
        """Keep a snapshot from now on; what must not be kept, or is too large, takes the place of nothing."""
        previous = self._entries.pop(key, None)
        if previous is not None:
            self._size -= previous.snapshot.size
        if not self._ttl or not snapshot.may_be_stored or snapshot.size > self._max_bytes:
            return
        self._entries[key] = _Entry(snapshot, self._clock() + self._ttl)
        self._size += snapshot.size
        while self._size > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._size -= oldest.snapshot.size
