"""``request`` and ``lint``: write a thread as a provider's request, and report what would be repaired in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import (
    GlobalOptions,
    budget_option,
    headish_argument,
    pass_settings,
    settings_and_json,
    together,
)
from headish_cli.printing.output import one_line, print_json, print_json_lines, say

if TYPE_CHECKING:
    from headish.providers import Request

_ptr = click.option("-p", "--ptr", metavar="PTR", help="Ask this provider pointer.")


_settings = together(
    click.option("--strict", is_flag=True, help="Refuse results without a call, instead of sending them as text."),
    click.option("--system-in-place", is_flag=True,
                 help="Leave system messages in their place (some models of Anthropic)."),
    click.option("--cache-breakpoints", is_flag=True,
                 help="Write cache flags as explicit breakpoints (newer models of OpenAI)."),
    click.option("--dialect", metavar="NAME", help="How the server speaks Chat Completions."),
)  # fmt: skip
"""Options for how a request is written, where providers and models differ."""


def _given(strict: bool, **settings: bool | str | None) -> dict[str, Any]:
    return {"orphans": "refuse" if strict else "text", **settings}


@click.command("request")
@click.argument("headish", nargs=-1)
@click.option("--to", "provider", metavar="PROVIDER",
              help="The provider: anthropic, openai, openai_responses, gemini, cohere or cerebras.")  # fmt: skip
@_ptr
@click.option("--model", metavar="NAME", help="The model to ask for.")
@click.option("--stream/--no-stream", default=True, help="Ask for the answer as a stream, or whole.")
@_settings
@budget_option
@click.option(
    "--explain", is_flag=True, help="Tell which turns each message came from, and which turn set each option."
)
@click.option("--json", "as_json", is_flag=True, help="Print the body on one line.")
@pass_settings
def request_command(
    settings: GlobalOptions, headish: tuple[str, ...], provider: str | None, ptr: str | None, model: str | None,
    stream: bool, explain: bool, as_json: bool, budget: Any, **settings_given: Any,
) -> None:  # fmt: skip
    """Print the request body that asks a provider to continue a HEADISH. Repairs and omissions are reported on stderr.

    Without --to or --ptr, uses the thread's own pointer. Several HEADISH are asked from as if
    one turn continued them all.
    """
    with settings.open() as store:
        options = {"model": model, "stream": stream, "budget": budget, **_given(**settings_given)}
        request = store.request(list(headish) or "@", provider, ptr=ptr, **options)
    # Stdout is the body alone, ready for curl; all else goes to stderr.
    print_json(request.body, pretty=not as_json)
    if explain:
        _explain(request)
    for note in request.notes:
        say(f"note: {note}")


@click.command("lint")
@headish_argument
@click.option(
    "--to", "--for", "provider", metavar="PROVIDER", help="The provider.  [default: that of the thread's pointer]"
)
@_ptr
@_settings
@budget_option
@settings_and_json
def lint_command(
    settings: GlobalOptions, headish: str, provider: str | None, ptr: str | None, budget: Any, as_json: bool,
    **settings_given: Any,
) -> None:  # fmt: skip
    """List what a request would repair, leave out or refuse. Exit code 1 where it would be refused."""
    with settings.open() as store:
        findings = store.lint(headish, provider, ptr=ptr, budget=budget, **_given(**settings_given))
    if as_json:
        print_json_lines(findings)
    else:
        for finding in findings:
            where = f" (turn {finding.turn})" if finding.turn else ""
            click.echo(one_line(f"{finding.kind}: {finding.what}{where}", None))
        if not findings:
            say("Everything is sent as it is stored.")
    if any(finding.kind == "refused" for finding in findings):
        raise click.exceptions.Exit(1)


def _explain(request: Request) -> None:
    for origin in request.origins:
        say(f"{origin.place} is from {', '.join(origin.turns) or 'no turn'}")
    for option, turn in request.options.items():
        say(f"option {option} is set by {turn}")
    if request.ptr is not None:
        say(f"the pointer {request.ptr} says {request.provider}/{request.model}")
    if request.dialect is not None:
        say(f"the body is written in the dialect {request.dialect}")
