"""What it costs to have sessions on disk, against other stores, the ORM, and the loop without any store.

CPU time of whole processes, threads included; each measurement has a process and a database of its own, contenders take
turns, the number is the median. With `make bench`, or `python benchmarks/sessions.py [--times N] [--no-peers]`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for when this file is started as a script

from benchmarks.loop.measuring import OWN, PEERS, ROOT, Contender, cpu_of_runs, environment

GLADOS, AGENTS, LANGGRAPH = "store.glados_store", "peers.openai_agents_store", "peers.langgraph_store"
BARE = Contender("bare openai", "loop.bare_openai", "import openai")
STORED = Contender("glados, stored", "loop.glados_stored", "import glados.core")
SHORT, LONG = 20, 200  # rounds
MICRO, MILLI, MEGA = 1e6, 1e3, 1e-6


@dataclass(frozen=True, slots=True)
class Row:
    """What glados and another one need, their ratio, and what it may be; without another one there is no ratio."""

    name: str
    glados: str
    other: str
    ratio: float | None
    target: float | None = None

    def met(self) -> bool:
        """Whether the target is met, if there is one."""
        return self.ratio is None or self.target is None or self.ratio <= self.target

    def line(self) -> str:
        """The row in Markdown."""
        ratio = "" if self.ratio is None else f"{self.ratio:.3f}"
        target = "" if self.target is None else f"≤ {self.target:g}, {'met' if self.met() else 'missed'}"
        return f"| {self.name} | {self.glados} | {self.other} | {ratio} | {target} |"


def measured(module: str, function: str, *numbers: int, variables: dict[str, str]) -> Any:
    """One measurement in a new process."""
    python = PEERS if module.startswith("peers.") else OWN
    command = [str(python), "-m", "benchmarks.store.measure", module, function, *map(str, numbers)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=variables, check=False)
    if result.returncode:
        raise SystemExit(f"{module}.{function} ended with {result.returncode}: {result.stderr[-500:]}")
    return json.loads(result.stdout)


def in_turns(modules: Sequence[str], function: str, times: int, variables: dict[str, str]) -> list[float]:
    """The medians of some modules that are measured in turns."""
    turns = [[measured(module, function, variables=variables) for module in modules] for _ in range(times)]
    return [statistics.median(values) for values in zip(*turns, strict=True)]


def appends(times: int, peers: bool, variables: dict[str, str]) -> list[Row]:
    """Appends to many sessions at once, and one after the other."""
    rows: list[Row] = []
    for name, function, target in (
        ("µs an append, 100 sessions at once, over SQLiteSession", "at_once", 0.2),
        ("µs an append, one by one, over SQLiteSession", "one_by_one", 1.0),
    ):
        seconds = in_turns([GLADOS, AGENTS] if peers else [GLADOS], function, times, variables)
        shown = [f"{value * MICRO:.0f}" for value in seconds]
        rows.append(
            Row(name, shown[0], shown[1], seconds[0] / seconds[1], target) if peers else Row(name, shown[0], "", None)
        )
    return rows


def reopening(times: int, variables: dict[str, str]) -> list[Row]:
    """A long session: what it takes to have it in memory, and to append to it."""
    turns = [measured(GLADOS, "reopening", variables=variables) for _ in range(times)]
    ratio = statistics.median(turn["glados"] / turn["orm"] for turn in turns)
    own, orm = (statistics.median(turn[name] for turn in turns) for name in ("glados", "orm"))
    growth = statistics.median(measured(GLADOS, "growth", variables=variables) for _ in range(times))
    return [
        Row("ms to reopen 10,000 entries, over ORM objects", f"{own * MILLI:.0f}", f"{orm * MILLI:.0f}", ratio, 0.35),
        Row("an append behind 10,000 entries over one behind 1", "", "", growth, 1.1),
    ]


def sizes(peers: bool, variables: dict[str, str]) -> list[Row]:
    """How the database grows with the rounds of a run."""
    rows: list[Row] = []
    for name, module in (("glados", GLADOS), *([("langgraph's checkpointer", LANGGRAPH)] if peers else [])):
        short, long = (measured(module, "size", rounds, variables=variables) for rounds in (SHORT, LONG))
        shown = f"{short * MEGA:.2f} → {long * MEGA:.2f}"
        is_own = module == GLADOS
        title = f"MB at {SHORT} → {LONG} rounds, {name}"
        rows.append(Row(title, shown if is_own else "", "" if is_own else shown, long / short, 11 if is_own else None))
    return rows


def loops(times: int, variables: dict[str, str]) -> Row:
    """The agent loop with every entry on disk over the loop by hand that stores nothing."""
    seconds = cpu_of_runs([BARE, STORED], "rounds", SHORT, times, variables)
    own, bare = (seconds[contender.name] / SHORT for contender in (STORED, BARE))
    return Row(
        f"ms a round, {SHORT} rounds of 4 calls, over bare openai without a store",
        f"{own * MILLI:.2f}",
        f"{bare * MILLI:.2f}",
        own / bare,
        0.35,
    )


def main() -> int:
    """Measure, print the table, and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="processes for each measurement")
    parser.add_argument("--no-peers", action="store_true", help="without other projects")
    options = parser.parse_args()
    peers = not options.no_peers and PEERS.exists()
    if not peers:
        print("The other projects are left out.")
    with environment() as variables:
        rows = [
            *appends(options.times, peers, variables),
            *reopening(options.times, variables),
            *sizes(peers, variables),
            loops(options.times, variables),
        ]
    print("\n| CPU | glados | other | ratio | target |")
    print("|---|---:|---:|---:|---:|")
    for row in rows:
        print(row.line())
    met = all(row.met() for row in rows)
    print(f"\ntargets {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
