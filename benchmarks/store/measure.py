"""One measurement in a process of its own, as JSON: `python -m benchmarks.store.measure MODULE FUNCTION [NUMBER]`."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import tempfile
from pathlib import Path


def main(module: str, function: str, *numbers: str) -> None:
    """Call the function with a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        measured = getattr(importlib.import_module(f"benchmarks.{module}"), function)
        print(json.dumps(asyncio.run(measured(Path(folder), *map(int, numbers)))))


main(*sys.argv[1:])
