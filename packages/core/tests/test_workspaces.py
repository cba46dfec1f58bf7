from __future__ import annotations

import os
from pathlib import Path

import pytest

from glados.core.workspaces import MAX_FILE_BYTES, MAX_FILE_CHARS, MAX_FILES, InstructionFiles, Workspace


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "AGENTS.md"
    file.write_text(text, encoding="utf-8")
    return file


def texts(path: Path, *, trusted: bool = True) -> list[str]:
    return [text for _, text in InstructionFiles().of(Workspace(path, trusted))]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    write(tmp_path, "outside")
    write(root, "root")
    write(root / "a" / "b", "deep")
    return root


def test_instructions_are_read_from_the_root_of_the_repository_down(repository: Path) -> None:
    assert texts(repository / "a" / "b") == ["root", "deep"]
    assert texts(repository / "a") == ["root"]
    assert texts(repository) == ["root"]


def test_nothing_of_a_workspace_that_nobody_trusts_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_at(*_: object, **__: object) -> None:
        raise AssertionError("the folder was looked at")

    for name in ("stat", "exists", "read_text", "resolve"):
        monkeypatch.setattr(Path, name, looked_at)

    assert texts(repository, trusted=False) == []
    assert InstructionFiles().of(None) == []


def test_outside_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    write(tmp_path, "above")
    write(tmp_path / "folder", "own")

    assert texts(tmp_path / "folder") == ["own"]
    assert texts(tmp_path / "missing") == []


def test_a_repository_of_somebody_else_above_the_folder_does_not_count(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.stat

    def of_another(path: Path, **options: bool) -> os.stat_result:
        found = real(path, **options)
        if path.name != ".git":
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(Path, "stat", of_another)

    assert texts(repository / "a" / "b") == ["deep"]


def test_a_worktree_has_a_file_where_a_repository_has_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "root").with_name(".git").write_text("gitdir: elsewhere")
    write(tmp_path / "a", "own")

    assert texts(tmp_path / "a") == ["root", "own"]


def test_only_the_nearest_files_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path
    for number in range(MAX_FILES + 3):
        write(folder, f"{number}")
        folder = folder / "d"

    assert texts(folder.parent) == [f"{number}" for number in range(3, MAX_FILES + 3)]


def test_a_file_is_read_again_only_when_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, files, read = write(tmp_path, "one"), InstructionFiles(), list[Path]()
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, **options: (read.append(path), real(path, **options))[1])

    assert [files.text(file), files.text(file)] == ["one", "one"]
    assert read == [file]
    file.write_text("another", encoding="utf-8")
    assert files.text(file) == "another"
    file.unlink()
    assert files.text(file) == ""


def test_a_file_that_changes_without_changing_its_size_is_read_again(tmp_path: Path) -> None:
    file, files = write(tmp_path, "one"), InstructionFiles()
    os.utime(file, ns=(1, 1))
    assert files.text(file) == "one"
    file.write_text("two", encoding="utf-8")

    assert files.text(file) == "two"


def test_what_is_no_text_of_a_sensible_size_is_bounded_or_left_out(tmp_path: Path) -> None:
    files = InstructionFiles()

    long = files.text(write(tmp_path / "long", "word " * MAX_FILE_CHARS))
    assert MAX_FILE_CHARS - 10 < len(long) < MAX_FILE_CHARS + 100
    assert long.endswith("characters of AGENTS.md are left out]")
    assert files.text(write(tmp_path / "huge", "x" * (MAX_FILE_BYTES + 1))) == ""
    (tmp_path / "folder" / "AGENTS.md").mkdir(parents=True)
    assert files.text(tmp_path / "folder" / "AGENTS.md") == ""
    os.mkfifo(tmp_path / "pipe")
    assert files.text(tmp_path / "pipe") == ""
    (tmp_path / "bytes").write_bytes(b"\xef\xbb\xbfcaf\xe9 \r\n")
    assert files.text(tmp_path / "bytes") == "caf\N{REPLACEMENT CHARACTER}"
