"""A whole run of the agent against the loop that people write by hand, and against other projects.

One round is one streamed model call that asks for four tools at once, the four calls, and their results; the history
grows with each round. The model server is another process, each contender too; what counts is its own CPU time, the
median of some runs in turns. With `make bench`, or `python benchmarks/agent_loop.py [--times N] [--no-peers]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for when this file is started as a script
sys.path.remove(str(Path(__file__).resolve().parent))  # html.py in it would be taken for the standard library's

from benchmarks.loop.measuring import (
    OWN,
    PEERS,
    Contender,
    Stopped,
    able,
    cpu_of_imports,
    cpu_of_runs,
    environment,
    memory_of_runs,
)

FLOOR = Contender("raw httpx", "loop.raw_httpx", "import httpx")
BARE = Contender("bare openai", "loop.bare_openai", "import openai")
GLADOS = Contender("glados", "loop.glados_run", "import glados.core")
OTHERS = (
    Contender("pydantic-ai", "peers.pydantic_ai_run", "from pydantic_ai import Agent", PEERS),
    Contender("openai-agents", "peers.openai_agents_run", "from agents import Agent, Runner", PEERS),
    Contender("agno", "peers.agno_run", "from agno.agent import Agent", PEERS),
)
ENGINE = "from glados.core import App"  # `import glados.core` loads each of its names when it is asked for
PYDANTIC = "import asyncio; from pydantic import BaseModel, Field"  # what any model class loads

SHORT, LONG = 20, 200  # rounds
CHUNKS = 1000  # a millisecond apart
IDLE_RUNS = 1000
MILLI, MICRO = 1e3, 1e6
KIB = 1 / 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of all contenders, and what it must be for glados as a multiple of the bare loop."""

    name: str
    values: dict[str, float]
    form: str
    target: float | None = None

    def ratio(self) -> float:
        """glados over the bare loop."""
        return self.values[GLADOS.name] / self.values[BARE.name]

    def met(self) -> bool:
        """Whether the target is met, if there is one."""
        return self.target is None or self.ratio() <= self.target


@dataclass(frozen=True, slots=True)
class Growth(Row):
    """A row that is a ratio already, and has a target of its own."""

    def ratio(self) -> float:
        """The growth of glados itself."""
        return self.values[GLADOS.name]


IMPORT_TARGET = 0.130  # CPU seconds of `import glados.core` over bare python


def measured_loops(contenders: Sequence[Contender], times: int, variables: dict[str, str]) -> list[Row]:
    """Every row of the table of runs."""
    short = cpu_of_runs(contenders, "rounds", SHORT, times, variables)
    long = cpu_of_runs(contenders, "rounds", LONG, max(1, times // 3), variables)
    drip = cpu_of_runs(contenders, "drip", CHUNKS, max(1, times // 2), variables)
    idle = memory_of_runs(contenders, IDLE_RUNS, max(1, times // 2), variables)

    def scaled(values: dict[str, float], scale: Callable[[float], float]) -> dict[str, float]:
        return {name: scale(value) for name, value in values.items()}

    growth = {name: (long[name] / LONG) / (short[name] / SHORT) for name in short}
    return [
        Row(f"CPU ms a round, {SHORT} rounds", scaled(short, lambda s: s / SHORT * MILLI), ".2f", 0.25),
        Row(f"CPU ms a round, {LONG} rounds", scaled(long, lambda s: s / LONG * MILLI), ".2f", 0.06),
        Growth(f"growth from {SHORT} to {LONG}", growth, ".2f", 2.0),
        Row("CPU µs a chunk, 1 ms apart", scaled(drip, lambda s: s / CHUNKS * MICRO), ".0f", 0.7),
        Row("KiB for a run that waits", scaled(idle, lambda size: size * KIB), ".1f", 1.3),
    ]


def print_loops(contenders: Sequence[Contender], rows: Sequence[Row]) -> None:
    """The table of runs, in Markdown."""
    names = [contender.name for contender in contenders]
    print(f"\n| | {' | '.join(names)} | glados / bare | target |")
    print("|---|" + "---:|" * (len(names) + 2))
    for row in rows:
        values = " | ".join(format(row.values[name], row.form) for name in names)
        ratio = "" if isinstance(row, Growth) else f"{row.ratio():.3f}"
        print(f"| {row.name} | {values} | {ratio} | ≤ {row.target:g}, {verdict(row.met())} |")


def print_imports(contenders: Sequence[Contender], times: int, variables: dict[str, str]) -> bool:
    """The table of imports, in Markdown; says whether the target is met."""
    # Each environment has a bare start of its own: what is installed there may add to it.
    statements = [(contender.python, contender.statement) for contender in contenders]
    pythons = dict.fromkeys((OWN, *(contender.python for contender in contenders)))
    wanted = [*((python, "pass") for python in pythons), (OWN, PYDANTIC), (OWN, ENGINE), *statements]
    seconds = dict(zip(wanted, cpu_of_imports(wanted, times * 2, variables), strict=True))
    print("\n| import | CPU ms over bare python | times bare python |")
    print("|---|---:|---:|")
    print(f"| `pass` ({seconds[OWN, 'pass'] * MILLI:.0f} ms in all) | 0 | 1.0 |")
    for python, statement in wanted[len(pythons) :]:
        bare, whole = seconds[python, "pass"], seconds[python, statement]
        print(f"| `{statement}` | {(whole - bare) * MILLI:.0f} | {whole / bare:.1f} |")
    over = seconds[OWN, GLADOS.statement] - seconds[OWN, "pass"]
    met = over <= IMPORT_TARGET
    print(f"\n`{GLADOS.statement}`: {over * MILLI:.0f} ms, target ≤ {IMPORT_TARGET * MILLI:.0f} ms, {verdict(met)}")
    return met


def verdict(met: bool) -> str:
    """The word for a target."""
    return "met" if met else "missed"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=6, help="runs of the short loop; the others get fewer")
    parser.add_argument("--no-peers", action="store_true", help="only glados, the bare loop and the floor")
    return parser.parse_args()


def peers(variables: dict[str, str]) -> list[Contender]:
    """The other projects that can be measured here."""
    if PEERS.exists():
        return able(OTHERS, variables)
    print(f"There is no {PEERS}: the peers are left out. `make bench` makes it.")
    return []


def main() -> int:
    """Measure, print the tables, and say whether the targets are met."""
    options = arguments()
    contenders = [FLOOR, BARE, GLADOS]
    with environment() as variables:
        if not options.no_peers:
            contenders += peers(variables)
        try:
            rows = measured_loops(contenders, options.times, variables)
            print_loops(contenders, rows)
            imported = print_imports(contenders, options.times, variables)
        except Stopped as error:
            print(error, file=sys.stderr)
            return 1
    met = imported and all(row.met() for row in rows)
    print(f"targets {verdict(met)}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
