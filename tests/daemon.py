"""Starting glados as a user would: real processes, in an environment of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

GLADOS = str(Path(sys.executable).with_name("glados"))
START_TIMEOUT = 60


def isolated(folder: Path, **settings: str) -> dict[str, str]:
    """An environment in which nothing of this machine's user is seen."""
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "GLADOS_DATA_DIR": str(folder / "data")}
    return {"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error", **home, **settings}


def glados(*args: str, env: Mapping[str, str], input: str | None = None, cwd: Path | None = None) -> Any:
    """Run one command to its end."""
    return subprocess.run(
        [GLADOS, *args], env=dict(env), input=input, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


class Daemon:
    """A `glados serve` process; `lines` is what it printed until it was ready."""

    def __init__(self, env: Mapping[str, str], *args: str) -> None:
        self.env = dict(env)
        self.process = subprocess.Popen(
            [GLADOS, "serve", *(args or ("--port", "0"))],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []

    def ready(self) -> Daemon:
        """Wait until it has said everything that it says at the start."""
        timer = threading.Timer(START_TIMEOUT, self.process.kill)
        timer.start()
        try:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                self.lines.append(line.rstrip("\n"))
                if line.startswith("curl "):
                    return self
        finally:
            timer.cancel()
        raise AssertionError(f"the daemon did not start: {self.lines} {self.ended()}")

    @property
    def url(self) -> str:
        return next(line.rpartition(" ")[2] for line in self.lines if "listening on" in line)

    @property
    def token(self) -> str:
        return (Path(self.env["GLADOS_DATA_DIR"]) / "token").read_text().strip()

    def client(self) -> httpx.Client:
        """A client with the daemon's token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=30)

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """Stop it and give its exit code and what stood on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end."""
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors

    def __enter__(self) -> Daemon:
        return self.ready()

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=30)


def events(response: httpx.Response) -> Any:
    """The events of an SSE response, as they come."""
    for line in response.iter_lines():
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))
