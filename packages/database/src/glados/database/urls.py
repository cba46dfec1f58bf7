"""Where the database is: what DATABASE_URL may say, and what of it may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["sqlite", "postgresql"]

ALLOWED = "write sqlite:///relative/path, sqlite:////absolute/path or postgresql://user:password@host:5432/name"


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """A place that holds a database; `shown` has no password."""

    kind: Kind
    shown: str
    path: Path = Path()
    dsn: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def hide(self, text: str) -> str:
        """A message of the database's driver without the password that it may repeat."""
        text = text.replace(self.dsn, self.shown) if self.dsn else text
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def parse_url(text: str) -> DatabaseUrl:
    """What DATABASE_URL says; a ValueError, which never holds the password, says what is wrong with it."""
    scheme, separator, rest = text.strip().partition("://")
    if not separator:
        raise ValueError(f"it has no scheme; {ALLOWED}")
    if scheme == "sqlite":
        return _sqlite(rest)
    if scheme in ("postgresql", "postgres"):
        return _postgresql(text.strip(), rest)
    if scheme.partition("+")[0] in ("sqlite", "postgresql", "postgres"):
        raise ValueError(f"the scheme {scheme!r} names a driver, which is not yours to choose; {ALLOWED}")
    raise ValueError(f"the scheme {scheme!r} is neither sqlite nor postgresql; {ALLOWED}")


def sqlite_url(path: Path) -> DatabaseUrl:
    """A SQLite file."""
    path = path.expanduser().absolute()
    return DatabaseUrl("sqlite", f"sqlite:///{path}", path)


def _sqlite(rest: str) -> DatabaseUrl:
    path = rest[1:]
    if path in ("", ":memory:"):
        raise ValueError(
            "a database in memory cannot be shared by the connections of glados;"
            " write sqlite:///path, or leave DATABASE_URL out for a file in the data directory"
        )
    if not rest.startswith("/"):
        raise ValueError(f"'sqlite://{rest}' names a host; {ALLOWED}")
    if "?" in path:
        raise ValueError("a SQLite address takes no options after '?'")
    return sqlite_url(Path(path))


def _postgresql(text: str, rest: str) -> DatabaseUrl:
    netloc, slash, path = rest.partition("/")
    credentials, at, host = netloc.rpartition("@")
    user, colon, password = credentials.partition(":")
    found = re.findall(r"(?:^|[?&])password=([^&]*)", path.partition("?")[2])
    path = re.sub(r"(?<=[?&])password=[^&]*", "password=***", path)
    hidden = f"{user}{':***' if colon and password else ''}{at}"
    secrets = tuple(secret for secret in (password, *found) if secret)
    return DatabaseUrl("postgresql", f"postgresql://{hidden}{host}{slash}{path}", dsn=text, secrets=secrets)
