"""`glados config`."""

from __future__ import annotations

import click

from glados.server.cli.invocation import invocation, json_option, shared_options


@click.command("config")
@click.option(
    "--reference",
    "form",
    type=click.Choice(["toml", "markdown"]),
    help="Print every setting with its default and description instead: a settings file to start from, or a page.",
)
@json_option("Print an object {sections, warnings}.")
@shared_options
@click.pass_context
def command(ctx: click.Context, form: str | None) -> None:
    """Show every setting, its value and where that came from; exit code 1 when one is wrong.

    \b
    Examples:
      glados config
      glados config --json | jq '.sections.server'
      glados config --reference toml > settings.toml
    """
    from glados.core import Settings
    from glados.server import reference
    from glados.server.cli.output import Output
    from glados.server.cli.overview import Overview
    from glados.server.sections import SectionModel, all_sections
    from glados.server.settings import file_layers

    out = Output()
    settings = Settings(file_layers(invocation().config))
    found = list(all_sections(settings))
    if form is not None:
        models = [section for section in found if isinstance(section, SectionModel)]
        out.write(reference.toml(models) if form == "toml" else reference.markdown(models))
        return
    overview = Overview(settings, found)
    if invocation().json:
        out.json(overview.to_dict())
    else:
        overview.print(out)
    ctx.exit(1 if overview.is_wrong else 0)
