"""Addresses in a page, made absolute as browsers do: what the page wrote stays, and gets what is missing before it."""

from __future__ import annotations

import re
from urllib.parse import urljoin

_WHOLE = ("http://", "https://")
# A base that needs no second look.
_USUAL = re.compile(r"https?://[a-z0-9._-]+(?::[0-9]+)?(?:[/?#]|$)")
_AROUND = "".join(map(chr, range(0x21)))
_BREAKS = re.compile("[\t\n\r]")
# Programs and data inside the page: they lead nowhere.
_NOWHERE = ("javascript:", "vbscript:", "data:", "blob:", "about:")


def leads_nowhere(address: str) -> bool:
    """Whether there is no page behind an address."""
    return address[:11].lower().startswith(_NOWHERE)


class Addresses:
    """The addresses of one page, relative to its base."""

    def __init__(self, base: str) -> None:
        self._base = base
        page = base.partition("#")[0]
        path = page.partition("?")[0]
        scheme, _, rest = path.partition("//")
        host, _, folder = rest.partition("/")
        root = f"{scheme}//{host}"
        self._folder = f"{root}/{folder[: folder.rfind('/') + 1]}"
        # What stands before each kind of relative address; where there are dots to resolve, all of it is looked at.
        is_usual = _USUAL.match(base) is not None and "/." not in path
        self._before = {"//": scheme, "/": root, "?": path, "#": page} if is_usual else {}

    def absolute(self, attribute: str) -> str:
        """The address that an attribute means on the page; what is none at all stays as it is.

        Browsers ignore space and controls around it, and every line break.
        """
        href = attribute.strip(" ") if attribute.isprintable() else _BREAKS.sub("", attribute.strip(_AROUND))
        if href.startswith(_WHOLE):
            return href
        if self._before and href and "/." not in href:
            before = self._before.get(href[:2]) or self._before.get(href[0])
            if before is not None:
                return before + href
            if href[0] != "." and ":" not in href and "//" not in href:
                return self._folder + href
        return self._joined(href)

    def _joined(self, href: str) -> str:
        try:
            return urljoin(self._base, href)
        except ValueError:  # such as an unclosed bracket: what the page says is all there is
            return href
