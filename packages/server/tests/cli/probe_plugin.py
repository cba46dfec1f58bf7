"""A plugin that does what commands have to cope with: it prints, asks, fails and hangs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
from pydantic import BaseModel, Field, SecretStr

from glados.core import (
    CommandContext,
    MemorySessionStore,
    Plugin,
    Prepare,
    Services,
    SessionStore,
    ToolContext,
    ToolError,
    hookimpl,
    tool,
)
from glados.core.exports import json_lines
from glados.core.imports import LogReader

print("printed at import")


class ProbeSettings(BaseModel):
    """What the tests set."""

    level: int = Field(default=1, description="A number.")
    sessions: Path | None = Field(default=None, description="A file that keeps sessions from one command to the next.")
    secret: SecretStr | None = Field(default=None, description="A secret.")


@tool("probe.echo", read_only=True, open_world=False)
async def echo(text: str) -> dict[str, str]:
    """Give the text back."""
    return {"text": text}


@tool("probe.change", open_world=False)
async def change(name: str) -> dict[str, str]:
    """Change something, so that a person is asked."""
    return {"changed": name}


@tool("probe.confirm", read_only=True, open_world=False)
async def confirm(ctx: ToolContext) -> dict[str, bool]:
    """Ask a question of the tool's own."""
    return {"yes": await ctx.ask("Really?")}


@tool("probe.noisy", read_only=True, open_world=False)
async def noisy(ctx: ToolContext) -> dict[str, bool]:
    """Print in every way there is."""
    print("printed by Python")
    os.write(1, b"written to the descriptor\n")
    subprocess.run(["echo", "echoed by a child"], check=True)
    await ctx.progress("half way")
    return {"noisy": True}


@tool("probe.fail", read_only=True, open_world=False)
async def fail() -> dict[str, bool]:
    """Fail as tools should."""
    raise ToolError("It did\nnot \x1b[31mwork.", why="test")


@tool("probe.wait", read_only=True, open_world=False)
async def wait() -> dict[str, bool]:
    """Wait for Ctrl-C."""
    print("waiting", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
    return {}


class FileSessionStore(MemorySessionStore):
    """Sessions that are in a file between two commands."""


class ProbePlugin(Plugin[ProbeSettings]):
    """All of the above."""

    id = "probe"

    store = FileSessionStore()

    @hookimpl
    async def setup(self, services: Services) -> None:
        print("printed at setup")
        if self.settings.sessions is not None:
            services.provide(SessionStore, lambda: self.store, replace=True)
            lines = self.settings.sessions.read_bytes().splitlines() if self.settings.sessions.exists() else []
            for log in LogReader().read(lines) if lines else ():
                await self.store.restore([(replace(log.session, tainted=False), log.entries)])

    @hookimpl
    async def teardown(self) -> None:
        if self.settings.sessions is not None:
            roots = reversed(await self.store.list(limit=1000, roots=True))
            lines = [line for session in roots async for line in json_lines(self.store, session)]
            self.settings.sessions.write_text("".join(lines), encoding="utf-8")

    @hookimpl
    async def prepare(self, prepare: Prepare) -> None:
        prepare.tools.extend([echo, change, confirm, noisy, fail, wait])


@click.command("probe")
@click.option("--json", is_flag=True)
@click.pass_obj
def command(context: CommandContext, json: bool) -> None:
    """Say what the command was given."""
    if json:
        raise ToolError("told as JSON", x=1)
    levels = [plugin.settings.level for plugin in context.plugins]
    click.echo(f"{levels} {[record.id for record in context.failed]} {context.data_dir}")
