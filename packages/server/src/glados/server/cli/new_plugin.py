"""`glados new-plugin`."""

from __future__ import annotations

from pathlib import Path

import click

from glados.server.cli.invocation import shared_options


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--path",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The folder to make the package in; by default this one.",
)
@shared_options
def command(name: str, path: Path) -> None:
    """Make the package of a new plugin: a tool, a setting, tests that pass.

    \b
    Examples:
      glados new-plugin weather
      glados new-plugin my-weather --path ~/plugins
    """
    from glados.core import InvalidInput
    from glados.server.cli.output import Output
    from glados.server.cli.scaffold import check_name, write_package

    check_name(name)
    folder = path.expanduser() / f"glados-{name}"
    if folder.exists() or folder.is_symlink():
        raise InvalidInput(f"{str(folder)!r} exists already: choose another name or another --path.", path=str(folder))
    write_package(folder, name)
    out = Output()
    out.line(f"Made {folder}. Go on with:")
    out.line(f"  cd {folder}")
    out.line("  python -m pip install -e '.[test]'")
    out.line("  python -m pytest")
    out.line(f"""  glados call {name}.greet '{{"name": "Ada"}}'""")
