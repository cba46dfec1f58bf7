from __future__ import annotations

from typing import TYPE_CHECKING

from glados.web_fetch.cache import MAX_OLDER, MAX_READERS, Cache, Key, Snapshot
from glados.web_fetch.pages import Page
from glados.web_fetch.urls import parse_url

if TYPE_CHECKING:
    from conftest import Clock


def key(name: str) -> Key:
    return Key(parse_url(f"https://good.test/{name}"), "markdown", "main")


def snapshot(text: str, *, may_be_stored: bool = True) -> Snapshot:
    hops = (parse_url("https://good.test/"),)
    return Snapshot(Page(text), hops, 200, "text/html", False, may_be_stored=may_be_stored)


def test_a_snapshot_is_fresh_for_its_time_and_kept_beyond_it(clock: Clock) -> None:
    cache, page = Cache(300, 10**6, clock), snapshot("x")
    cache.put(key("a"), page)
    clock.now += 299.9
    assert cache.is_fresh(key("a"))
    clock.now += 0.1
    assert not cache.is_fresh(key("a"))
    assert cache.get(key("a")) is page
    cache.put(key("a"), page)
    assert cache.is_fresh(key("a"))
    assert not cache.is_fresh(key("b"))
    assert cache.get(key("b")) is None


def test_the_one_that_nobody_asked_for_longest_goes_first(clock: Clock) -> None:
    room = 3 * snapshot("x" * 1000).size
    cache = Cache(300, room, clock)
    for name in "abc":
        cache.put(key(name), snapshot("x" * 1000))
    cache.get(key("a"))
    cache.put(key("d"), snapshot("x" * 1000))
    assert [name for name in "abcd" if cache.get(key(name))] == ["a", "c", "d"]
    assert cache.size == room


def test_the_memory_is_bounded_and_counted_down_again(clock: Clock) -> None:
    cache = Cache(300, 100_000, clock)
    for number in range(1000):
        cache.put(key(str(number % 70)), snapshot("ü" * (number % 50) * 100))
        assert cache.size <= 100_000
    for number in range(70):
        cache.put(key(str(number)), snapshot("", may_be_stored=False))
    assert (len(cache), cache.size) == (0, 0)


def test_what_must_not_be_kept_or_is_too_large_is_not_and_takes_the_older_one_with_it(clock: Clock) -> None:
    cache = Cache(300, 10_000, clock)
    for gone in (snapshot("x", may_be_stored=False), snapshot("x" * 10_000)):
        cache.put(key("a"), snapshot("old"))
        cache.put(key("a"), gone)
        assert cache.get(key("a")) is None
    assert cache.size == 0


def test_who_is_in_the_middle_of_an_older_copy_finds_it_by_the_offset(clock: Clock) -> None:
    cache, old, new = Cache(300, 10**6, clock), snapshot("old"), snapshot("new")
    cache.put(key("a"), old)
    cache.mark(key("a"), old, 1)
    cache.put(key("a"), new)
    assert cache.get(key("a"), 1) is old
    assert cache.get(key("a"), 2) is new
    assert cache.get(key("a")) is new
    cache.mark(key("a"), new, 1)
    assert cache.get(key("a"), 1) is new


def test_a_copy_that_has_not_changed_keeps_its_readers(clock: Clock) -> None:
    cache, first, same = Cache(300, 10**6, clock), snapshot("same"), snapshot("same")
    cache.put(key("a"), first)
    cache.mark(key("a"), first, 1)
    cache.put(key("a"), same)
    assert len(cache) == 1
    cache.put(key("a"), snapshot("other"))
    assert cache.get(key("a"), 1) is same


def test_of_older_copies_only_some_that_are_being_read_are_kept(clock: Clock) -> None:
    cache, unread = Cache(300, 10**6, clock), snapshot("unread")
    cache.put(key("a"), unread)
    copies = [snapshot(str(number)) for number in range(MAX_OLDER + 2)]
    for number, copy in enumerate(copies):
        cache.put(key("a"), copy)
        cache.mark(key("a"), copy, number)
    assert len(cache) == 1 + MAX_OLDER
    assert [cache.get(key("a"), number) for number in range(len(copies))] == [copies[-1], *copies[1:]]
    assert cache.size == sum(copy.size for copy in copies[1:])


def test_so_many_readers_of_a_copy_are_remembered(clock: Clock) -> None:
    cache, old = Cache(300, 10**6, clock), snapshot("old")
    cache.put(key("a"), old)
    for offset in range(1, MAX_READERS + 2):
        cache.mark(key("a"), old, offset)
    cache.put(key("a"), new := snapshot("new"))
    found = [cache.get(key("a"), offset) for offset in range(1, MAX_READERS + 2)]
    assert found == [new, *[old] * MAX_READERS]


def test_the_older_copies_of_a_page_go_before_the_newest(clock: Clock) -> None:
    cache = Cache(300, 3 * snapshot("x" * 1000).size, clock)
    old, new = snapshot("x" * 1000), snapshot("y" * 1000)
    cache.put(key("a"), old)
    cache.mark(key("a"), old, 1)
    cache.put(key("a"), new)
    for name in "bc":
        cache.put(key(name), snapshot("x" * 1000))
    assert cache.get(key("a"), 1) is new
    assert all(cache.get(key(name)) for name in "abc")


def test_without_a_time_nothing_is_kept(clock: Clock) -> None:
    cache = Cache(0, 10_000, clock)
    cache.put(key("a"), snapshot("x"))
    assert len(cache) == 0


def test_what_decides_the_content_is_in_the_key() -> None:
    url = parse_url("https://good.test/")
    assert len({Key(url, mode, content) for mode in ("html", "markdown", "links") for content in ("main", "page")}) == 6
    assert Key(url, "html", "main") == Key(parse_url("HTTPS://GOOD.test:443/#part"), "html", "main")
