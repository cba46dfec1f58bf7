"""One contender in a process of its own: reads all pages, then does what is asked on stdin, one JSON line each.

`python -m benchmarks.pages.contender MODULE FOLDER`, where the module has `WORK`: functions of a page's HTML, by name.
Asked for `cpu` it answers with the CPU seconds of one of them over all pages, else with what it returns for each.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.pages.corpus import read_pages


def cpu(work: Callable[[str], Any], pages: list[str], times: int) -> float:
    """CPU seconds of one pass over all pages, of so many."""
    gc.collect()
    begun = time.process_time()
    for _ in range(times):
        for html in pages:
            work(html)
    return (time.process_time() - begun) / times


def serve(module: str, folder: str) -> None:
    """Answer one command after the other."""
    work: dict[str, Callable[[str], Any]] = importlib.import_module(module).WORK
    pages = [page.html for page in read_pages(Path(folder))]
    for function in work.values():
        function(pages[0])
    tell(list(work))
    while line := sys.stdin.readline():
        command: dict[str, Any] = json.loads(line)
        function = work[command["work"]]
        if command["what"] == "cpu":
            tell(cpu(function, pages, command["times"]))
        else:
            tell([function(html) for html in pages])


def tell(value: Any) -> None:
    """One line of JSON to whoever asked."""
    print(json.dumps({"value": value}), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:3])
