"""Addresses in a page, made absolute: as `urljoin` does it, but most of them without it, because it is slow."""

from __future__ import annotations

import re
from urllib.parse import urljoin

# A host that needs no second look.
_HOST = re.compile(r"https?://[a-z0-9._-]+(?::[0-9]+)?(?:[/?#]|$)")


_AROUND = "".join(map(chr, range(0x21)))
_BREAKS = re.compile("[\t\n\r]")


def written(attribute: str) -> str:
    """An address as an attribute says it: browsers ignore space and controls around it, and every line break."""
    address = attribute.strip(_AROUND)
    return address if address.isprintable() else _BREAKS.sub("", address)


class Addresses:
    """The addresses of one page, relative to its base."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._scheme = base.partition("//")[0]
        # What stands before each kind of relative address.
        self._root, self._folder, self._path, self._page = (
            self._joined(ending)[: -len(ending)] for ending in ("/x", "x", "?x", "#x")
        )
        self._is_usual = _HOST.match(base) is not None and not _is_odd(base)

    def absolute(self, href: str) -> str:
        """The address that `href` means on the page; what is none at all stays as it is."""
        before = self._before(href) if href and self._is_usual else None
        return self._joined(href) if before is None else before + href

    def _before(self, href: str) -> str | None:
        """What has to stand before an address to make it absolute; None if that is not all that has to be done."""
        if _is_odd(href):
            return None
        first = href[0]
        if first == "h" and _HOST.match(href) is not None:
            return ""
        if first == "/":
            if not href.startswith("//"):
                return self._root
            return self._scheme if _HOST.match(self._scheme + href) is not None else None
        if first == "#":
            return self._page
        if first == "?":
            return self._path
        return None if first == "." or ":" in href or "//" in href else self._folder

    def _joined(self, href: str) -> str:
        try:
            return urljoin(self._base, href)
        except ValueError:  # such as an unclosed bracket: what the page says is all there is
            return href


def _is_odd(address: str) -> bool:
    """Whether joining changes more than the beginning: dots to resolve, parameters, empty parts."""
    return "/." in address or ";" in address or "?#" in address or address[-1] in "?#"
