"""What it costs to read a page: links, Markdown, the main content, against the bare parse and against other projects.

`python benchmarks/html.py --pages FOLDER [--times N] [--no-peers]`; what the folder holds is in pages/corpus.py.
Every contender is a process of its own that has read all pages; what counts is its CPU time over all of them, in
turns, as a multiple of the bare Lexbor parse in the same turn, the median of all turns. All of it includes parsing.
The Markdown of every whole page must be the same, byte by byte, as what markdownify's own converter makes of the same
tree by the same rules. How the words of the main content are scored is in pages/scoring.py.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for when this file is started as a script
sys.path.remove(str(Path(__file__).resolve().parent))  # there it would be taken for the standard library's `html`

from benchmarks.loop.measuring import PEERS, Contender, Process, Stopped, environment
from benchmarks.pages.corpus import Page, read_pages
from benchmarks.pages.scoring import score

HOST = "benchmarks.pages.contender"
GLADOS = Contender("glados", "pages.glados_pages", "")
OTHERS = (
    Contender("markdownify", "peers.markdownify_pages", "", PEERS),
    Contender("trafilatura", "peers.trafilatura_pages", "", PEERS),
    Contender("readability-lxml + markdownify", "peers.readability_pages", "", PEERS),
)
TITLES = {
    "parse": "bare Lexbor parse",
    "links": "links",
    "hidden": "hidden parts taken out",
    "page": "whole page to Markdown",
    "main": "main content to Markdown",
}
TARGETS = {"links": 2.0, "page": 6.0, "main": 8.0}  # times the bare parse
SCORE_TARGET = 0.965
PASSES = 3  # over all pages in each turn; the others take long enough for one
MILLI = 1e3


@dataclass(frozen=True, slots=True)
class Row:
    """What one contender does, how long it takes for all pages, and how much of their content it finds."""

    contender: Contender
    work: str
    seconds: float
    ratio: float
    score: float | None = None

    def is_own(self) -> bool:
        """Whether the targets are meant for it."""
        return self.contender is GLADOS

    def met(self) -> bool:
        """Whether its targets are met, if it has some."""
        fast = not self.is_own() or self.ratio <= TARGETS.get(self.work, self.ratio)
        return fast and (not self.is_own() or self.score is None or self.score >= SCORE_TARGET)

    def line(self) -> str:
        """The row of the table."""
        found = "" if self.score is None else f"{self.score:.3f}"
        wanted = [f"≤ {TARGETS[self.work]:g} times"] if self.is_own() and self.work in TARGETS else []
        wanted += [f"F1 ≥ {SCORE_TARGET}"] if self.is_own() and self.score is not None else []
        target = f"{', '.join(wanted)}: {verdict(self.met())}" if wanted else ""
        title = f"{self.contender.name}: {TITLES[self.work]}"
        return f"| {title} | {self.seconds * MILLI:.0f} | {self.ratio:.1f} | {found} | {target} |"


def verdict(met: bool) -> str:
    """The word for a target."""
    return "met" if met else "missed"


def measured(contenders: Sequence[Contender], pages: Sequence[Page], folder: Path, times: int) -> list[Row]:
    """Every row of the table."""
    with ExitStack() as stack:
        variables = stack.enter_context(environment())
        running = started(contenders, folder, variables, stack)
        seconds: dict[tuple[Contender, str], list[float]] = {
            (contender, work): [] for contender, (_, works) in running.items() for work in works if work in TITLES
        }
        for _ in range(times):
            for (contender, work), values in seconds.items():
                passes = PASSES if contender is GLADOS else 1
                values.append(running[contender][0].ask(what="cpu", work=work, times=passes))
        scores = {
            contender: score(process.ask(what="text", work="text"), pages)
            for contender, (process, works) in running.items()
            if "text" in works
        }
    parse = seconds[GLADOS, "parse"]
    return [
        Row(
            contender,
            work,
            statistics.median(values),
            statistics.median(value / base for value, base in zip(values, parse, strict=True)),
            scores.get(contender) if work == "main" else None,
        )
        for (contender, work), values in seconds.items()
    ]


def started(
    contenders: Sequence[Contender], folder: Path, variables: dict[str, str], stack: ExitStack
) -> dict[Contender, tuple[Process, list[str]]]:
    """The processes of all contenders that start, each with what it can do; of the others it is said why not."""
    found: dict[Contender, tuple[Process, list[str]]] = {}
    for contender in contenders:
        process = Process(contender, str(folder), variables, HOST)
        stack.callback(process.stop)
        try:
            found[contender] = process, process.ready()
        except Stopped as error:
            if contender is GLADOS:
                raise
            print(f"{error}\n{contender.name} is left out.", file=sys.stderr)
    return found


def different(pages: Sequence[Page]) -> list[str]:
    """The pages of which the rule book by itself makes other Markdown than the walk."""
    from selectolax.lexbor import LexborHTMLParser

    from benchmarks.pages.glados_pages import page as markdown
    from tests.soup import by_the_book

    def expected(html: str) -> str:
        root = LexborHTMLParser(html).root
        return by_the_book(root) if root is not None else ""

    return [page.name for page in pages if markdown(page.html) != expected(page.html)]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, help="folder of NAME.source.html.gz and NAME.expected.html.gz")
    parser.add_argument("--times", type=int, default=7, help="turns; the number is the median")
    parser.add_argument("--no-peers", action="store_true", help="only glados and the bare parse")
    return parser.parse_args()


def main() -> int:
    """Measure, print the table, and say whether the targets are met."""
    options = arguments()
    if options.pages is None:
        print("No pages are given: name a folder with --pages to measure how they are read.")
        return 0
    pages = read_pages(options.pages)
    if not pages:
        print(f"{options.pages} has no files NAME.source.html.gz.", file=sys.stderr)
        return 1
    peers = OTHERS if PEERS.exists() and not options.no_peers else ()
    if not peers and not options.no_peers:
        print(f"There is no {PEERS}: the peers are left out. `make bench` makes it.")
    try:
        rows = measured([GLADOS, *peers], pages, options.pages.resolve(), options.times)
    except Stopped as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\n| {len(pages)} pages | CPU ms | times the parse | token F1 | target |\n|---|---:|---:|---:|---|")
    print("\n".join(row.line() for row in rows))
    odd = different(pages)
    print(f"\nThe same bytes as markdownify on {len(pages) - len(odd)} of {len(pages)} pages.", *odd)
    met = not odd and all(row.met() for row in rows)
    print(f"targets {verdict(met)}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
