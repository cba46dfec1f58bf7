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
    return attribute.strip(" ") if attribute.isprintable() else _BREAKS.sub("", attribute.strip(_AROUND))


class Addresses:
    """The addresses of one page, relative to its base."""

    def __init__(self, base: str) -> None:
        self._base = base
        # What stands before each kind of relative address.
        page = base.partition("#")[0]
        path = page.partition("?")[0]
        self._scheme, _, rest = path.partition("//")
        host, _, folder = rest.partition("/")
        root = f"{self._scheme}//{host}"
        self._folder = f"{root}/{folder[: folder.rfind('/') + 1]}"
        self._before = {"/": root, "?": path, "#": page}
        self._hosts = {root}
        self._is_usual = _HOST.match(base) is not None and not _is_odd(base) and "//" not in rest

    def absolute(self, href: str) -> str:
        """The address that `href` means on the page; what is none at all stays as it is."""
        if not href or not self._is_usual or _is_odd(href):
            return self._joined(href)
        before = self._before.get(href[0])
        if before is None:
            if self._has_usual_host(href):
                return href
            is_path = ":" not in href and "//" not in href
            return self._folder + href if is_path else self._joined(href)
        if href.startswith("//"):
            address = self._scheme + href
            return address if self._has_usual_host(address) else self._joined(href)
        return before + href

    def _has_usual_host(self, address: str) -> bool:
        end = address.find("/", len("https://"))
        host = address if end < 0 else address[:end]
        if host in self._hosts:
            return True
        if _HOST.match(address) is None:
            return False
        self._hosts.add(host)
        return True

    def _joined(self, href: str) -> str:
        try:
            return urljoin(self._base, href)
        except ValueError:  # such as an unclosed bracket: what the page says is all there is
            return href


def _is_odd(address: str) -> bool:
    """Whether joining changes more than the beginning: dots to resolve, parameters, empty parts."""
    return address[0] == "." or "/." in address or ";" in address or "?#" in address or address[-1] in "?#"
