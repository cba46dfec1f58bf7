"""What a site's robots.txt asks of programs, by RFC 9309.

The parser of the standard library knows no wildcards and takes the first rule that fits where the longest one counts.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from glados.core import ToolError
from glados.web_fetch.errors import (
    AddressNotAllowed,
    DnsFailed,
    HttpStatus,
    NoFreePlace,
    PortNotAllowed,
    ProxyFailed,
    RobotsDisallowed,
    RobotsUnreachable,
    TlsFailed,
)
from glados.web_fetch.http import Admit, Ask, HttpClient
from glados.web_fetch.places import ended_waiting
from glados.web_fetch.urls import Url
from glados.web_fetch.workers import in_thread

MAX_BYTES = 512_000
MAX_SITES = 256
KEPT_FOR = 3_600.0  # a day is the most that the standard allows
TIMEOUT = 10.0
PATH = "/robots.txt"
_TOKEN = re.compile(r"[A-Za-z_-]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_PLAIN = re.compile(r"[A-Za-z0-9._~-]")
_SAFE = "%:/?[]@!$&'()*+,;=~"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: whether paths of this pattern may be fetched."""

    allows: bool
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether the path begins as the pattern says; `*` stands for anything, `$` for the end."""
        ends = self.pattern.endswith("$")
        first, *others = self.pattern.removesuffix("$").split("*")
        if not path.startswith(first):
            return False
        position = len(first)
        for piece in others[:-1] if ends else others:
            found = path.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        if not ends:
            return True
        return path.endswith(others[-1]) and len(path) - len(others[-1]) >= position if others else path == first


def parse_robots(text: str, user_agent: str) -> tuple[Rule, ...]:
    """The rules for a user agent: those of all groups that name it, else those for everybody."""
    token = _product(user_agent)
    groups: dict[str, list[Rule]] = {}
    names, naming = set[str](), False  # of the open group's names those that may count
    for line in text.removeprefix("\ufeff").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            names, naming = names if naming else set[str](), True
            name = _agent(value)
            if name in (token, "*"):
                names.add(name)
                groups.setdefault(name, [])
        elif key in ("allow", "disallow"):
            naming = False
            if value and names:
                rule = Rule(key == "allow", _normal(value))
                for name in names:
                    groups[name].append(rule)
    return tuple(groups[token] if token in groups else groups.get("*", []))


def may_fetch(rules: tuple[Rule, ...], target: str) -> bool:
    """The longest pattern decides, and of two that are equally long the one that allows."""
    path = _normal(target)
    if path == PATH:
        return True
    found = [(len(rule.pattern), rule.allows) for rule in rules if rule.matches(path)]
    return max(found, default=(0, True))[1]


class Robots:
    """Asks each site once in a while what it wants, and refuses what it does not."""

    def __init__(self, http: HttpClient, user_agent: str, timeout: float, clock: Callable[[], float]) -> None:
        self._http = http
        self._user_agent = user_agent
        self._timeout = min(TIMEOUT, timeout / 3)
        self._clock = clock
        self._sites: OrderedDict[str, tuple[float, tuple[Rule, ...]]] = OrderedDict()

    async def check(self, url: Url, admit: Admit) -> None:
        """Refuse a page that the site does not want to be fetched."""
        # Half a megabyte of rules is read and asked in a thread: it would hold up the event loop.
        if not await in_thread(may_fetch, await self._rules(url, admit), url.target):
            raise RobotsDisallowed(str(url), url.host.name)

    async def _rules(self, url: Url, admit: Admit) -> tuple[Rule, ...]:
        site = Url(url.scheme, url.host, url.port, PATH)
        kept = self._sites.get(str(site))
        if kept is not None and self._clock() < kept[0]:
            self._sites.move_to_end(str(site))
            return kept[1]
        rules = await self._asked(site, url, admit)
        self._sites[str(site)] = (self._clock() + KEPT_FOR, rules)
        self._sites.move_to_end(str(site))
        while len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
        return rules

    async def _asked(self, site: Url, page: Url, admit: Admit) -> tuple[Rule, ...]:
        """The site's rules: a site without a robots.txt has none, and one that cannot be asked allows nothing."""
        ask = Ask("text/plain, */*;q=0.1", max_bytes=MAX_BYTES, reads=lambda _: True)
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._http.get(site, admit, ask)
        except HttpStatus as error:
            if 400 <= error.status < 500:
                return ()
            raise RobotsUnreachable(str(page), page.host.name, f"answered {error.status}") from error
        except (DnsFailed, AddressNotAllowed, PortNotAllowed, ProxyFailed, TlsFailed) as error:
            if error.data["domain"] == page.host.name:  # the page itself would meet the same, and that says more
                raise
            raise RobotsUnreachable(str(page), page.host.name, error.code) from error
        except TimeoutError as error:
            if ended_waiting(error):
                raise NoFreePlace(page.host.name, self._timeout) from error
            raise RobotsUnreachable(str(page), page.host.name, "timeout") from error
        except ToolError as error:
            raise RobotsUnreachable(str(page), page.host.name, error.code) from error
        return await in_thread(parse_robots, response.body.data.decode("utf-8", "replace"), self._user_agent)


def _product(user_agent: str) -> str:
    """The name that a site knows a program by: `GLaDOS-Agent` of `GLaDOS-Agent/1.0`."""
    found = _TOKEN.match(user_agent)
    return found[0].lower() if found is not None else ""


def _agent(value: str) -> str:
    return "*" if value.startswith("*") else _product(value)


def _normal(path: str) -> str:
    """A path in one spelling: what must be escaped is, and nothing else."""

    def spelt(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if _PLAIN.fullmatch(character) else match[0].upper()

    return _ESCAPE.sub(spelt, quote(path, safe=_SAFE))
