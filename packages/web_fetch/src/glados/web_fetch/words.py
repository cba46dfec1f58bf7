"""What the names of classes, ids and roles tell about an element."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_NAMES = 300
MEMORY = 4096


@dataclass(frozen=True, slots=True)
class Hint:
    """What an element's names say: that it is beside the content, if in doubt, and how much for or against being it."""

    is_beside: bool = False
    is_doubtful: bool = False
    weight: int = 0


# Each alternative begins with a letter and looks back only then: that is twice as fast, and most names are new.

# Around the content: these are left out unless the same names also speak of content.
_SURELY = (
    r"breadcrumb|comment|cookie|consent|disqus|footer|gdpr|legend|menu|modal|onetrust|outbrain|taboola|popup|recirc|related"
    r"|remark|repl(?:y|ies)|rss(?<!\wrss)\b|shoutbox|sidenav|skip-?(?:link|to)|nav(?<!\wnav)(?:bar|igation)?\b"
)
# So are these, but they may also name what stands in an element or what it leaves room for, as in `has-ads`.
_MAYBE = (
    r"ad(?<!\wad)s?\b|advert|banner|community|extra|header|masthead|newsletter|pager\b|pagination|promo\b|share|sharing|sidebar"
    r"|skyscraper|social|sponsor|subscri|supplemental|toolbar(?<!code-toolbar)|top-?bar"
)
_BESIDE, _SURELY_BESIDE = re.compile(f"{_SURELY}|{_MAYBE}"), re.compile(_SURELY)
_CONTENT = re.compile(r"article|body|column|content|main|and(?<!\wand)\b|mathjax|shadow")
_FOR = re.compile(r"article|body|content|entry|main|page|post|text|blog|story|prose|markdown")
# Site builders call everything a widget, and say of most parts that their label is hidden, or what does not fit.
_AGAINST = re.compile(
    r"ad(?<!\wad)s?\b|advert|banner|com(?:ment|(?<!\wcom)-)|contact|cookie|foot(?!note)|gdpr"
    r"|hidden(?<!label-hidden)(?<!overflow-hidden)|masthead|media|meta|outbrain|promo|related|share|shoutbox"
    r"|shopping|sidebar|skyscraper|sponsor|tag(?<!\wtag)s?\b|tool(?:bar|box|tip)|tool(?<!\wtool)s?\b"
    r"|widget(?<!elementor-widget)"
)
_AROUND = (
    "navigation menu menubar complementary contentinfo banner search alert alertdialog dialog tooltip toolbar tablist"
)
_ROLES = frozenset(_AROUND.split())
_PLAIN = Hint()
# A longer id is a heading turned into one, and speaks of the text's subject.
MAX_WORDS = 3
_SEPARATOR = re.compile(r"[-_]")


@lru_cache(MEMORY)
def hint(classes: str, identity: str, role: str) -> Hint:
    """What the class names, the id and the role of an element say."""
    classes, identity = classes[:MAX_NAMES].lower(), identity[:MAX_NAMES].lower()
    if len(_SEPARATOR.findall(identity)) > MAX_WORDS:
        identity = ""
    names = f"{classes} {identity}"
    by_name = _BESIDE.search(names) is not None and _CONTENT.search(names) is None
    by_role = role.lower() in _ROLES
    weight = _weight(classes) + _weight(identity)
    if not (by_name or by_role or weight):
        return _PLAIN
    is_doubtful = by_name and not by_role and _SURELY_BESIDE.search(names) is None
    return Hint(by_name or by_role, is_doubtful, weight)


def _weight(names: str) -> int:
    if not names:
        return 0
    return 25 * ((_FOR.search(names) is not None) - (_AGAINST.search(names) is not None))
