"""What it costs to start: CPU of `glados --version`, and CPU of `glados serve` until it is ready.

`python benchmarks/startup.py [RUNS]` prints a table with the targets; exit code 1 when one is missed. CPU is user and
system time of the child process, so that other work on the machine counts as little as it can.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.remove(str(Path(__file__).resolve().parent))  # html.py in it would be taken for the standard library's

import urllib.error
import urllib.request

VERSION_TARGET = 8.0  # times the CPU of `python -c pass`
READY_TARGET = 1.0  # seconds of CPU
PEERS = ("llm", "datasette", "clai")
BIN = Path(sys.executable).parent


def cpu(*command: str, environment: dict[str, str] | None = None) -> float:
    """CPU seconds of one run of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def cpu_until_ready(environment: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of `glados serve` from its start until /readyz answers with 200."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    started = time.monotonic()
    process = subprocess.Popen(
        [str(BIN / "glados"), "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        while not is_ready(port):
            if process.poll() is not None:
                raise SystemExit(f"glados serve ended with {process.returncode}: {process.communicate()[1]}")
            time.sleep(0.01)
        return cpu_so_far(process.pid), time.monotonic() - started
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def is_ready(port: int) -> bool:
    """Whether the daemon on that port says that it is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False


def cpu_so_far(pid: int) -> float:
    """User and system seconds of a running process, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(runs: int, *command: str, environment: dict[str, str]) -> float:
    """The median CPU of a command; the first run only fills caches."""
    cpu(*command, environment=environment)
    return statistics.median(cpu(*command, environment=environment) for _ in range(runs))


def main() -> int:
    """Measure, print the table, and say whether the targets are met."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        own = {name: str(Path(folder, name)) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        environment = {"PATH": os.environ["PATH"], **own}
        floor = measure(runs, sys.executable, "-c", "pass", environment=environment)
        click = measure(runs, sys.executable, "-c", "import click", environment=environment)
        version = measure(runs, str(BIN / "glados"), "--version", environment=environment)
        help = measure(runs, str(BIN / "glados"), "--help", environment=environment)
        cpu_until_ready(environment)
        ready, wall = min(cpu_until_ready(environment) for _ in range(max(3, runs // 5)))
        rows = [
            ("python -c pass", floor, ""),
            ("python -c 'import click'", click, ""),
            ("glados --version", version, f"target ≤ {VERSION_TARGET:g} times the floor"),
            ("glados --help", help, ""),
            *(
                (f"{name} --version", measure(runs, path, "--version", environment=environment), "")
                for name, path in peers()
            ),
            ("glados serve until ready", ready, f"target ≤ {READY_TARGET:g} s; {wall * 1000:.0f} ms by the clock"),
        ]
    print(f"{'':28} {'CPU ms':>8} {'/ floor':>8}")
    for name, seconds, remark in rows:
        print(f"{name:28} {seconds * 1000:8.1f} {seconds / floor:8.1f}  {remark}")
    met = version <= VERSION_TARGET * floor and ready <= READY_TARGET
    print("targets met" if met else "targets missed")
    return 0 if met else 1


def peers() -> list[tuple[str, str]]:
    """Command lines of other projects that are installed beside this one."""
    found = ((peer, shutil.which(peer, path=f"{BIN}{os.pathsep}{os.environ['PATH']}")) for peer in PEERS)
    return [(peer, path) for peer, path in found if path is not None]


if __name__ == "__main__":
    sys.exit(main())
