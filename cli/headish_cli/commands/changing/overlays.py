"""``summarize``, ``hide``, ``replace``, ``keep``, ``unhide``, ``original``: change how readers see turns, which stay
stored unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.options import GlobalOptions, expect_option, json_option, pass_settings, read_text, together
from headish_cli.printing.output import print_json, say
from headish_cli.printing.telling import tell_continued, tell_turn

if TYPE_CHECKING:
    from headish import Store, Turn

_LAST = click.argument("last", required=False, metavar="[LAST]")
CHOICE = ("model", "people", "both")


_branch_options = together(
    click.option("-c", "--continues", metavar="HEADISH",
                 help="The branch to change, if the turns are on several."),
    expect_option,
    json_option,
)  # fmt: skip
"""Options for the branch on which an overlay acts, and for where the bookmark must be."""


@click.command("summarize")
@click.argument("first")
@click.argument("last")
@click.argument("text", required=False, metavar="[TEXT|-]")
@click.option("--ask", "ptr", metavar="PTR", help="Ask the model of this provider pointer for the summary.")
@_branch_options
@pass_settings
def summarize_command(
    settings: GlobalOptions, first: str, last: str, text: str | None, ptr: str | None, as_json: bool, **given: Any
) -> None:
    """Show the model a summary in place of the turns from FIRST to LAST, both included.

    From here on a model sees TEXT in their place; people see what was said, and a line that says so. Nothing is lost:
    'headish original' undoes it, and other branches do not change. Instructions in between stay.
    """
    if ptr is not None and text is not None:
        raise click.UsageError("give TEXT or --ask, not both")
    summary = None if ptr is not None else read_text(text)
    with settings.open() as store:
        _tell(store, store.summarize(first, last, summary, ptr=ptr, **given), as_json)


@click.command("hide")
@click.argument("first")
@_LAST
@click.option("--from", "viewer", type=click.Choice(CHOICE), default="both", show_default=True,
              help="From whom the turns are hidden.")  # fmt: skip
@_branch_options
@pass_settings
def hide_command(
    settings: GlobalOptions, first: str, last: str | None, viewer: str, as_json: bool, **given: Any
) -> None:
    """Hide the turns from FIRST to LAST, both included, or FIRST alone. A call is hidden with its result."""
    with settings.open() as store:
        _tell(store, store.hide(first, last, viewer=viewer, **given), as_json, "that is hidden so already")


@click.command("replace")
@click.argument("headish")
@click.argument("text", required=False, metavar="[TEXT|-]")
@_branch_options
@pass_settings
def replace_command(settings: GlobalOptions, headish: str, text: str | None, as_json: bool, **given: Any) -> None:
    """Show TEXT in place of what the turn HEADISH says, to the model and to people.

    Reasoning, calls and results of the turn stay. In a turn that is one result, TEXT replaces what the tool found.
    """
    replacement = read_text(text)
    with settings.open() as store:
        _tell(store, store.replace(headish, replacement or "", **given), as_json)


@click.command("keep")
@click.argument("first")
@_LAST
@_branch_options
@pass_settings
def keep_command(settings: GlobalOptions, first: str, last: str | None, as_json: bool, **given: Any) -> None:
    """Keep the turns from FIRST to LAST, both included, or FIRST alone, in every budget."""
    with settings.open() as store:
        _tell(store, store.keep(first, last, **given), as_json, "every budget keeps that already")


@click.command("unhide")
@click.argument("first")
@_LAST
@_branch_options
@pass_settings
def unhide_command(settings: GlobalOptions, first: str, last: str | None, as_json: bool, **given: Any) -> None:
    """Show the hidden turns from FIRST to LAST again, or FIRST alone. FIRST may be the overlay that hides them."""
    with settings.open() as store:
        _tell(store, store.unhide(first, last, **given), as_json, "nothing there is hidden")


@click.command("original")
@click.argument("first")
@_LAST
@_branch_options
@pass_settings
def original_command(settings: GlobalOptions, first: str, last: str | None, as_json: bool, **given: Any) -> None:
    """Show the turns from FIRST to LAST, or FIRST alone, as they were said, to everybody.

    FIRST may be an overlay: this undoes it.
    """
    with settings.open() as store:
        _tell(store, store.original(first, last, **given), as_json, "that is seen as it was said already")


def _tell(store: Store, turn: Turn | None, as_json: bool, already: str = "") -> None:
    """Print the id of the overlay on stdout, and what it does on stderr. Without one, ``null`` as JSON, and why."""
    if turn is None:
        tell_continued(store)  # as `tell_turn` does for an overlay that was stored
        if as_json:
            print_json(None)
        say(f"Nothing was stored: {already}.")
        return
    tell_turn(store, turn, as_json)
    say(f"{describe_turn(turn)}{f', on {turn.meta.bookmark}' if turn.meta.bookmark else ''}")


def describe_turn(turn: Turn) -> str:
    """What an overlay does, with a capital first letter."""
    from headish.history.windows.states import describe

    overlay = turn.meta.attributes.overlay
    words = "" if overlay is None else describe(overlay)
    return words[:1].upper() + words[1:]
