from __future__ import annotations

from pathlib import Path

import pytest

from glados.database.urls import parse_url, sqlite_url


def test_a_sqlite_path_is_relative_or_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_url("sqlite:///data/a.db").path == tmp_path / "data" / "a.db"
    assert parse_url("sqlite:////var/lib/a.db").path == Path("/var/lib/a.db")
    assert parse_url("sqlite:///~/a.db").path == Path.home() / "a.db"


def test_what_is_shown_of_a_sqlite_file_can_be_given_again(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "50% of it #1.db")
    assert parse_url(url.shown) == url


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_password_is_hidden(scheme: str) -> None:
    url = parse_url(f"{scheme}://me:p%40ss@db.example:5432/name?sslmode=require&password=other")
    assert url.kind == "postgresql"
    assert url.shown == "postgresql://me:***@db.example:5432/name?sslmode=require&password=***"
    assert "p%40ss" not in repr(url)
    assert "other" not in repr(url)
    assert url.hide(f"cannot parse {url.dsn}, p%40ss, other") == f"cannot parse {url.shown}, ***, ***"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql://me:secret@host/name", "'mysql' is neither"),
        ("postgresql+asyncpg://me:secret@host/name", "names a driver"),
        ("sqlite+aiosqlite:///a.db", "names a driver"),
        ("/var/lib/a.db", "no scheme"),
        ("sqlite://", "in memory"),
        ("sqlite:///", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite://a.db", "names a host"),
        ("sqlite:///a.db?mode=ro", "no options"),
    ],
)
def test_what_is_not_allowed_is_refused_with_what_is(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        parse_url(text)
    assert "secret" not in str(raised.value)
