"""Rules and modes: what is allowed, asked or denied, and the decision on one call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

from pydantic import BaseModel

from glados.core.errors import ConfigurationError
from glados.core.tools import ToolFlags

Effect = Literal["allow", "ask", "deny"]
Mode = Literal["default", "plan", "auto", "bypass"]
Source = Literal["policy", "project", "user", "run", "session"]

_RULE = re.compile(
    r"\s*(?P<tool>[a-z0-9*_.-]+)\s*(?:\((?P<fields>.*)\))?(?:(?<=[\s)])\s*(?P<tainted>even_if_tainted))?\s*", re.DOTALL
)
_STRICTNESS: tuple[Mode, ...] = ("bypass", "default", "auto", "plan")
_TABLE: dict[Mode, tuple[Effect, Effect, Effect, Effect]] = {
    #          read-only, changes something, destructive, either of them in a tainted session
    "default": ("allow", "ask", "ask", "ask"),
    "plan": ("allow", "deny", "deny", "deny"),
    "auto": ("allow", "deny", "deny", "deny"),
    "bypass": ("allow", "allow", "allow", "ask"),
}
_TAINTED = "the session holds untrusted content"


@dataclass(frozen=True, slots=True)
class Rule:
    """`web-fetch.fetch(domain=*.python.org)`: a tool id and fields of its input, in which `*` stands for anything.

    An exact rule is made from a call: a `*` that the model wrote there is only a `*`. An allow rule that says
    `even_if_tainted` allows changes also in a session that holds untrusted content.
    """

    effect: Effect
    tool: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    source: Source = "user"
    exact: bool = False
    even_if_tainted: bool = False

    @classmethod
    def parse(cls, text: str, effect: Effect, source: Source = "user") -> Rule:
        """Read a rule as settings and the command line write it."""
        match = _RULE.fullmatch(text)
        if match is None:
            raise ConfigurationError(
                f"{text!r} is no rule: write 'tool-id' or 'tool-id(field=value, …)'; * is a wildcard."
            )
        if match["tainted"] and effect != "allow":
            raise ConfigurationError(f"The rule {text!r} says even_if_tainted: only rules that allow can.")
        fields: dict[str, str] = {}
        for item in filter(None, (match["fields"] or "").split(",")):
            name, equals, value = item.partition("=")
            if not equals or not name.strip():
                raise ConfigurationError(f"{item.strip()!r} in the rule {text!r} is no field: write field=value.")
            fields[name.strip()] = value.strip()
        return cls(effect, match["tool"], fields, source, even_if_tainted=bool(match["tainted"]))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rule:
        """A rule as `to_dict` gave it."""
        return cls(
            data["effect"], data["tool"], dict(data["fields"]), data["source"], data["exact"], data["even_if_tainted"]
        )

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON, with all that it says."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "fields": dict(self.fields)}

    def concerns(self, tool_id: str) -> bool:
        """Whether it speaks of this tool at all."""
        if self.tool == tool_id:
            return True
        return not self.exact and "*" in self.tool and _glob(self.tool).fullmatch(tool_id) is not None

    def matches(self, tool_id: str, fields: Mapping[str, str]) -> bool:
        """Whether it speaks of this call; a field that the call lacks never matches."""
        if self.exact:
            return self.tool == tool_id and all(fields.get(name) == value for name, value in self.fields.items())
        return self.concerns(tool_id) and all(
            name in fields and _glob(pattern).fullmatch(fields[name]) for name, pattern in self.fields.items()
        )

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        text = f"{self.tool}({inner})" if inner else self.tool
        return f"{text} even_if_tainted" if self.even_if_tainted else text


@dataclass(frozen=True, slots=True)
class Rights:
    """A ceiling: where no rule decides, at most this mode; and rules, of which only those that deny or ask count.

    An allow rule of the user stands above every mode. What no rule may allow is denied by a rule here.
    """

    mode: Mode | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided of one call, and why; what no rule decided, a plugin may answer if it is a question."""

    effect: Effect
    why: str
    by_rule: bool = False


class CallFields(Mapping[str, str]):
    """What rules look at: the fields of the input as text, and those that the tool adds; made when one looks."""

    __slots__ = ("_added", "_input", "_made", "_values")

    def __init__(self, input: BaseModel, added: Mapping[str, str]) -> None:
        self._input = input
        self._added = added
        self._values: dict[str, Any] | None = None
        self._made: dict[str, str] | None = None

    @property
    def values_as_json(self) -> dict[str, Any]:
        """The input as JSON."""
        if self._values is None:
            self._values = self._input.model_dump(mode="json")
        return self._values

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, str]:
        if self._made is None:
            self._made = {**as_text(self.values_as_json), **self._added}
        return self._made


def as_text(values: Mapping[str, Any]) -> dict[str, str]:
    """The fields of an input as rules match them: text as it is, everything else as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for name, value in values.items()
    }


def decide(
    rules: Iterable[Rule],
    mode: Mode,
    tool_id: str,
    flags: ToolFlags,
    fields: Mapping[str, str],
    *,
    rights: Sequence[Rights] = (),
    tainted: bool = False,
) -> Decision:
    """Any matching deny, then any ask, then any allow; where no rule matches, the mode.

    Ceilings only tighten. In a tainted session an allow rule that does not say otherwise asks before changes.
    """
    tainted = tainted and not flags.read_only
    ask: Rule | None = None
    allow: Rule | None = None
    for rule in chain(rules, _ceilings(rights)) if rights else rules:
        if rule.effect == "allow":
            wanted = allow is None or (tainted and not allow.even_if_tainted)
            if wanted and rule.source != "project" and rule.matches(tool_id, fields):  # a project may only tighten
                allow = rule if allow is None or rule.even_if_tainted else allow
        elif (rule.effect == "deny" or ask is None) and rule.matches(tool_id, fields):
            if rule.effect == "deny":
                return Decision("deny", _why(rule), by_rule=True)
            ask = rule
    if ask is not None:
        return Decision("ask", _why(ask), by_rule=True)
    if allow is None:
        return _by_mode(_strictest(mode, rights), tool_id, flags.read_only, flags.destructive, tainted)
    if tainted and not allow.even_if_tainted:
        return Decision("ask", f"{_TAINTED} and the {allow.source} rule 'allow {allow}' does not say even_if_tainted")
    return Decision("allow", _why(allow), by_rule=True)


def _why(rule: Rule) -> str:
    if rule.source == "session" and rule.effect == "deny":
        return "a person said no to the same before in this session"
    return f"the {rule.source} rule '{rule.effect} {rule}' says so"


def _ceilings(rights: Sequence[Rights]) -> Iterator[Rule]:
    return (rule for each in rights for rule in each.rules if rule.effect != "allow")


def _strictest(mode: Mode, rights: Sequence[Rights]) -> Mode:
    for each in rights:
        if each.mode is not None and _STRICTNESS.index(each.mode) > _STRICTNESS.index(mode):
            mode = each.mode
    return mode


@lru_cache(maxsize=1024)
def _by_mode(mode: Mode, tool_id: str, read_only: bool, destructive: bool, tainted: bool) -> Decision:
    kind = "only reads" if read_only else "may destroy something" if destructive else "changes something"
    column = 0 if read_only else 3 if tainted else 2 if destructive else 1
    also = f", {_TAINTED}" if tainted else ""
    return Decision(_TABLE[mode][column], f"{tool_id} {kind}{also} and the permission mode is '{mode}'")


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    first, *rest = (re.escape(part) for part in pattern.split("*"))
    if not rest:
        return re.compile(first)
    *middle, last = rest
    # each star but the last takes as little as it can and never tries again: the time stays linear in the value
    return re.compile(first + "".join(f"(?>.*?{part})" for part in middle) + f".*{last}", re.DOTALL)
