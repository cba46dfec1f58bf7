"""`glados sessions show`, `search`, `costs` and `rules`: what there is to read about sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from glados.server.cli.invocation import invocation, json_option, shared_options

if TYPE_CHECKING:
    from glados.core import App, Found, ModelCost, StoredRule


@click.command("show")
@click.argument("id")
@json_option("Print the list of its entries, all branches together.")
@shared_options
def show(id: str) -> None:
    """Print what was said in a session, and what tools did.

    \b
    Examples:
      glados sessions show 5f0c | less
      glados sessions show 5f0c --json | jq '.[].kind'
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def shown(app: App) -> None:
        session = await app.find_session(id)
        if invocation().json:
            out.json([entry.to_dict() for entry in await app.sessions.entries(session.id)])
            return
        async for piece in await app.export_session(session.id, "markdown"):
            out.write(piece)

    Application(invocation()).run_on_sessions(shown)


@click.command("search")
@click.argument("text")
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@json_option("Print a list of {session_id, title, entry_id, seq, role, snippet, created_at}.")
@shared_options
def search(text: str, session: str | None, limit: int) -> None:
    """Find prompts and answers that have all of the words.

    \b
    Examples:
      glados sessions search "cake recipe"
      glados sessions search cake --session 5f0c
    """
    from glados.server.cli import given
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out, words = Output(), given.text(text, "text")

    async def searched(app: App) -> list[Found]:
        where = (await app.find_session(session)).id if session is not None else None
        return await app.search(words, limit=limit, session_id=where)

    found = Application(invocation()).run_on_sessions(searched)
    if invocation().json:
        out.json([hit.to_dict() for hit in found])
    elif found:
        rows = [(hit.session_id, f"#{hit.seq}", hit.role, " ".join(hit.snippet.split())) for hit in found]
        out.table(rows)
    else:
        out.line("Nothing was found.")


@click.command("costs")
@click.argument("id")
@json_option("Print a list of {model, calls, usage, cost}.")
@shared_options
def costs(id: str) -> None:
    """Show what was spent in a session and below it, by model.

    \b
    Examples:
      glados sessions costs 5f0c
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def spent(app: App) -> list[ModelCost]:
        return await app.costs((await app.find_session(id)).id)

    found = Application(invocation()).run_on_sessions(spent)
    if invocation().json:
        out.json([cost.to_dict() for cost in found])
    elif found:
        out.table([_cost_row(cost) for cost in found])
    else:
        out.line("No model call is known to have been made in it.")


@click.command("rules")
@click.argument("id", required=False)
@click.option("--revoke", metavar="RULE", help="Take this rule back, by its id: from then on a person is asked again.")
@json_option("Print a list of {id, effect, rule, principal, created_at, session_id}.")
@shared_options
def rules(id: str | None, revoke: str | None) -> None:
    """List the permission rules that answers for good have made, and those of a session; or take one back.

    \b
    Examples:
      glados sessions rules
      glados sessions rules 5f0c
      glados sessions rules --revoke 1b9e40c2d8a34f6e9a7c5d3e2f1a0b9c
    """
    from glados.server.cli.application import Application
    from glados.server.cli.output import Output

    out = Output()

    async def listed(app: App) -> list[StoredRule]:
        session_id = (await app.find_session(id)).id if id is not None else None
        if revoke is not None:
            await app.permissions.revoke(revoke)
        return await app.permissions.rules(session_id)

    found = Application(invocation()).run(listed)
    if invocation().json:
        out.json([rule.to_dict() for rule in found])
    elif found:
        out.table([_rule_row(rule.to_dict()) for rule in found])
    else:
        out.line("No answer has made a rule.")


def _cost_row(cost: ModelCost) -> tuple[str, ...]:
    tokens = f"{cost.usage.input_tokens} tokens in, {cost.usage.output_tokens} out"
    return cost.model, f"{cost.calls} calls", tokens, f"${cost.cost:.4f}" if cost.cost is not None else "$?"


def _rule_row(rule: dict[str, Any]) -> tuple[str, ...]:
    holds = "in this session" if rule["session_id"] is not None else "for good"
    return rule["id"], holds, rule["effect"], rule["rule"], rule["principal"], rule["created_at"]


COMMANDS = (show, search, costs, rules)
