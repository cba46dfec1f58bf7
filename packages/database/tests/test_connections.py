from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event

import pytest

from glados.database import DatabaseSettings, DatabaseUnavailable
from glados.database.migrations import Migrations
from glados.database.urls import parse_url, sqlite_url

Unprivileged = Callable[[], AbstractContextManager[None]]


def prepare(url: str) -> None:
    Migrations(parse_url(url), DatabaseSettings()).prepare(Event())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that everybody can reach, below which a test takes rights away."""
    for parent in [tmp_path, *tmp_path.parents]:
        if parent.owner() == Path.home().owner() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    return tmp_path


def test_a_new_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "a b%20#?.sqlite3")
    Migrations(url, DatabaseSettings()).prepare(Event())
    assert stat.S_IMODE(url.path.stat().st_mode) == 0o600


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="does not exist: create it"):
        prepare(f"sqlite:///{tmp_path}/nowhere/a.sqlite3")


def test_a_folder_that_cannot_be_written_is_told(folder: Path, unprivileged: Unprivileged) -> None:
    folder.chmod(0o555)
    with unprivileged(), pytest.raises(DatabaseUnavailable, match="cannot be created: Permission denied"):
        prepare(f"sqlite:///{folder}/a.sqlite3")


def test_a_file_in_a_folder_that_cannot_be_written_is_told(folder: Path, unprivileged: Unprivileged) -> None:
    (folder / "a.sqlite3").touch()
    (folder / "a.sqlite3").chmod(0o666)
    folder.chmod(0o555)
    with unprivileged(), pytest.raises(DatabaseUnavailable, match="keeps its log beside"):
        prepare(f"sqlite:///{folder}/a.sqlite3")


def test_a_file_that_cannot_be_written_is_told(folder: Path, unprivileged: Unprivileged) -> None:
    (folder / "a.sqlite3").touch()
    (folder / "a.sqlite3").chmod(0o444)
    with unprivileged(), pytest.raises(DatabaseUnavailable, match="cannot be written: Permission denied"):
        prepare(f"sqlite:///{folder}/a.sqlite3")


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="Is a directory"):
        prepare(f"sqlite:///{tmp_path}")


def test_a_file_that_is_no_database_is_told_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite3"
    file.write_text("Dear diary, " * 100)
    with pytest.raises(DatabaseUnavailable, match="is not a SQLite database"):
        prepare(f"sqlite:///{file}")
    assert file.read_text() == "Dear diary, " * 100


def test_a_server_that_does_not_answer_is_told_without_the_password() -> None:
    with socket.socket() as taken:
        # Bound but not listening: nobody else can answer there.
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(DatabaseUnavailable, match="Start the server or correct DATABASE_URL") as raised:
            prepare(f"postgresql://me:secret@127.0.0.1:{taken.getsockname()[1]}/name")
    assert "secret" not in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.parametrize("url", ["postgresql://me:secret@host:port/name", "postgresql://me:secret@host/name?no=way"])
def test_an_address_that_postgresql_refuses_is_told_without_the_password(url: str) -> None:
    with pytest.raises(DatabaseUnavailable) as raised:
        prepare(url)
    assert "secret" not in raised.value.message


def test_the_switch_to_the_write_ahead_log_is_made_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.sqlite3"
    prepare(url)
    # Bytes 18 and 19 of the header: 2 stands for the write-ahead log.
    assert (tmp_path / "a.sqlite3").read_bytes()[18:20] == b"\x02\x02"
    before = os.stat(tmp_path / "a.sqlite3").st_mtime_ns
    prepare(url)
    assert os.stat(tmp_path / "a.sqlite3").st_mtime_ns == before
