"""The limit and its warning, each in a process that may end by it."""

from __future__ import annotations

import signal
import subprocess
import sys

BUSY = "while True: pass"
IN_C = "(2 ** 5_000_000) ** 100"


def run(code: str) -> subprocess.CompletedProcess[str]:
    begin = "from glados.web_fetch import cpu_limit\ncpu_limit.prepare()\n"
    return subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, timeout=60)


def test_the_kernel_ends_a_process_over_its_limit_even_in_the_middle_of_c_code() -> None:
    for work in (BUSY, IN_C):
        assert run(f"cpu_limit.start(0.1)\n{work}").returncode == -signal.SIGPROF


def test_a_limit_can_be_taken_back() -> None:
    done = run("cpu_limit.start(0.1)\ncpu_limit.start(0)\nfor n in range(10_000_000): pass\nprint('done')")
    assert done.stdout == "done\n"


def test_who_wants_to_be_warned_is_warned_before_the_limit() -> None:
    code = f"""
cpu_limit.start(2)
try:
    with cpu_limit.warned():
        {BUSY}
except cpu_limit.OutOfTime:
    print("in time")
"""
    assert run(code).stdout == "in time\n"


def test_nobody_is_warned_where_there_is_no_limit() -> None:
    assert run("with cpu_limit.warned():\n    for n in range(10_000_000): pass\nprint('done')").stdout == "done\n"
