"""`glados serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from glados.server.cli.invocation import invocation, shared_options
from glados.server.cli.root import drop_stdout

if TYPE_CHECKING:
    from glados.core import App


@click.command("serve")
@click.option("--host", help="The address to listen on (SERVER_HOST).")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on, 0 for any free one (SERVER_PORT).")
@shared_options
def command(host: str | None, port: int | None) -> None:
    """Start the daemon and serve until Ctrl-C.

    \b
    Examples:
      glados serve
      glados serve --port 9000
      glados serve --config config/settings.toml --log-level debug
    """
    import asyncio
    import gc

    from glados.server.announce import announce
    from glados.server.cli.application import Application
    from glados.server.daemon import serve
    from glados.server.settings import ServerSettings

    given: dict[str, Any] = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    application = Application(invocation(), {"server": given}, quiet=False)
    settings = application.settings.section("server", ServerSettings).load()

    def announced(app: App, address: str) -> None:
        try:
            announce(app, address, settings)
        except BrokenPipeError:  # `glados serve | head -1`: the daemon serves on
            drop_stdout()
        # What was loaded stays: looking through all of it for garbage would hold up the loop for longer than a page.
        gc.collect()
        gc.freeze()

    asyncio.run(serve(settings, lambda extra: application.open(extra, recovers=True), announced))
