"""Contenders as processes: starting them, asking them in turns, and what an import costs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loop.task import Kind

ROOT = Path(__file__).resolve().parents[2]
OWN = Path(sys.executable)
PEERS = ROOT / ".venv-bench" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Contender:
    """A project, the module that runs it, and how its users import it."""

    name: str
    module: str
    statement: str
    python: Path = OWN


class Stopped(Exception):
    """A contender that gave no answer."""


class Process:
    """A contender that waits for commands; `host` is the module that runs it, with an argument such as a URL."""

    def __init__(
        self,
        contender: Contender,
        argument: str,
        environment: dict[str, str],
        host: str = "benchmarks.loop.contender",
    ) -> None:
        command = [str(contender.python), "-m", host, f"benchmarks.{contender.module}", argument]
        self._name = contender.name
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 # closed by stop
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def ready(self) -> Any:
        """Wait until it has imported and warmed up what it needs; gives what it says of itself."""
        return self._answer().get("value")

    def measure(self, kind: Kind, amount: int) -> float:
        """One measurement: CPU seconds, or bytes for each run that waits."""
        return self.ask(kind=kind, amount=amount)

    def ask(self, **command: Any) -> Any:
        """The answer to a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()["value"]

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise Stopped(f"{self._name} ended: {self._errors.read().strip()[-500:] or 'it said nothing'}")
        return json.loads(line)


@contextmanager
def environment() -> Generator[dict[str, str]]:
    """What every process gets: the repository to import from, and a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        yield {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}


@contextmanager
def server(environment: dict[str, str]) -> Generator[str]:
    """The model server in a process of its own; gives its URL."""
    command = [str(OWN), "-m", "benchmarks.loop.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def able(contenders: Sequence[Contender], environment: dict[str, str]) -> list[Contender]:
    """Those that start and do their work; of the others it is said why not."""
    found: list[Contender] = []
    with server(environment) as url:
        for contender in contenders:
            process = Process(contender, url, environment)
            try:
                process.ready()
                found.append(contender)
            except Stopped as error:
                print(f"{error}\n{contender.name} is left out.", file=sys.stderr)
            finally:
                process.stop()
    return found


def cpu_of_runs(
    contenders: Sequence[Contender], kind: Kind, amount: int, times: int, environment: dict[str, str]
) -> dict[str, float]:
    """The median CPU seconds of a run, each contender once in each turn, so that noise meets all of them."""
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    with ExitStack() as stack:
        url = stack.enter_context(server(environment))
        processes = {contender.name: Process(contender, url, environment) for contender in contenders}
        for process in processes.values():
            stack.callback(process.stop)
        for process in processes.values():
            process.ready()
        for _ in range(times):
            for name, process in processes.items():
                seconds[name].append(process.measure(kind, amount))
    return {name: statistics.median(values) for name, values in seconds.items()}


def memory_of_runs(
    contenders: Sequence[Contender], runs: int, times: int, environment: dict[str, str]
) -> dict[str, float]:
    """The median bytes for each run that waits; every measurement has a process and a server of its own."""
    return {
        contender.name: statistics.median(_memory(contender, runs, environment) for _ in range(times))
        for contender in contenders
    }


def _memory(contender: Contender, runs: int, environment: dict[str, str]) -> float:
    with server(environment) as url:
        process = Process(contender, url, environment)
        try:
            process.ready()
            return process.measure("wait", runs)
        finally:
            process.stop()


def cpu_of_imports(statements: Sequence[tuple[Path, str]], times: int, environment: dict[str, str]) -> list[float]:
    """The median CPU seconds of `python -c STATEMENT`, each once in each turn; the first turn only fills caches."""
    plain = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    turns = [[_cpu_of_import(python, statement, plain) for python, statement in statements] for _ in range(times + 1)]
    return [statistics.median(values) for values in zip(*turns[1:], strict=True)]


def _cpu_of_import(python: Path, statement: str, environment: dict[str, str]) -> float:
    process = subprocess.Popen([str(python), "-c", statement], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Stopped(f"{python} -c {statement!r} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
