"""Pages that were fetched before: a bounded memory of them, the least recently used go first."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from glados.web_fetch.pages import Content, Page
from glados.web_fetch.settings import Mode
from glados.web_fetch.urls import Url

if TYPE_CHECKING:
    from glados.web_fetch.http import Validators

# What an entry takes besides its text, roughly: the objects, the URLs, the headers, the readers.
OVERHEAD = 4_000
# Older copies of one page that are kept, and readers in the middle of one copy that are remembered.
MAX_OLDER, MAX_READERS = 3, 50


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


@dataclass(slots=True)
class _Copy:
    """A snapshot that is kept, and where its readers stand who have not come to its end."""

    snapshot: Snapshot
    fresh_until: float
    readers: deque[int] = field(default_factory=lambda: deque[int](maxlen=MAX_READERS))


class Cache:
    """Snapshots by what was asked; `ttl` says how long one is given without asking the server again.

    Where a page has changed, the older copies are kept for those who are in the middle of them.
    """

    def __init__(self, ttl: float, max_bytes: int, clock: Callable[[], float]) -> None:
        self._ttl = ttl
        self._max_bytes = max_bytes
        self._clock = clock
        self._copies: OrderedDict[Key, list[_Copy]] = OrderedDict()  # of each page the newest is the last
        self._size = 0

    def __len__(self) -> int:
        return sum(map(len, self._copies.values()))

    @property
    def size(self) -> int:
        """How much memory all snapshots take."""
        return self._size

    def get(self, key: Key, offset: int = 0) -> Snapshot | None:
        """What is kept, however old it is: the copy that the offset was given out for, else the newest."""
        copies = self._copies.get(key)
        if copies is None:
            return None
        self._copies.move_to_end(key)
        begun = (copy for copy in reversed(copies) if offset in copy.readers)
        return next(begun, copies[-1]).snapshot

    def is_fresh(self, key: Key) -> bool:
        """Whether the newest copy may be given without asking the server."""
        copies = self._copies.get(key)
        return copies is not None and self._clock() < copies[-1].fresh_until

    def put(self, key: Key, snapshot: Snapshot) -> None:
        """Keep a snapshot from now on; what must not be kept, or is too large, takes the place of nothing."""
        copies = self._copies.pop(key, [])
        self._size -= sum(copy.snapshot.size for copy in copies)
        if not self._ttl or not snapshot.may_be_stored or snapshot.size > self._max_bytes:
            return
        newest = _Copy(snapshot, self._clock() + self._ttl)
        if copies and copies[-1].snapshot.page.text == snapshot.page.text:
            newest.readers = copies.pop().readers
        copies = [*[copy for copy in copies if copy.readers][-MAX_OLDER:], newest]
        self._copies[key] = copies
        self._size += sum(copy.snapshot.size for copy in copies)
        while self._size > self._max_bytes:
            self._drop_oldest()

    def mark(self, key: Key, snapshot: Snapshot, offset: int) -> None:
        """Remember that somebody will read on in this copy, at this offset."""
        for copy in self._copies.get(key, ()):
            if copy.snapshot.page.text == snapshot.page.text and offset not in copy.readers:
                copy.readers.append(offset)

    def _drop_oldest(self) -> None:
        key, copies = next(iter(self._copies.items()))
        self._size -= copies.pop(0).snapshot.size
        if not copies:
            del self._copies[key]
