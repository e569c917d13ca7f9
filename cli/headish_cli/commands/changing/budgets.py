"""``compact`` and ``tokens``: shorten a branch for a model, and count its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish_cli.commands.changing.overlays import describe_turn
from headish_cli.options import GlobalOptions, headish_argument, settings_and_json
from headish_cli.printing.output import lay_out, print_json, print_json_lines, role_word, say
from headish_cli.printing.telling import tell_turn

if TYPE_CHECKING:
    from headish import Store
    from headish.history.budgets.counting import Tokens


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """A share (``40%``) or a number of tokens."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | int:
        # Digits may be grouped, as headish itself prints them: 100,000.
        text = str(value).replace(",", "").replace("_", "")
        try:
            number = float(text[:-1]) / 100 if text.endswith("%") else int(text)
        except ValueError:
            number = 0
        # Only a share is a float. The whole thread (100%) is no size to compact to.
        if not (0 < number < 1 if isinstance(number, float) else number > 0):
            self.fail(f"{value!r} is neither a share such as 40% nor a number of tokens", param, ctx)
        return number


@click.command("compact")
@click.argument("headish", metavar="NAME")
@click.option("--to", default="40%", show_default=True, type=Size(), metavar="SIZE",
              help="The size: a share of what it has now, or a number of tokens.")  # fmt: skip
@click.option("--ask", "ptr", metavar="PTR", help="Ask the model of this provider pointer for the summary.")
@click.option("--over", type=Size(), metavar="SIZE",
              help="Only if it has more: a number of tokens, or a share of the pointer's context window.")  # fmt: skip
@settings_and_json
def compact_command(settings: GlobalOptions, headish: str, ptr: str | None, as_json: bool, **sizes: Any) -> None:
    """Shorten the branch NAME for the model: summarize its oldest part, or hide it without --ask.

    Instructions, kept turns and the first exchange stay, and the tail from the last question on. If no summary comes,
    the part is hidden instead. People go on seeing all of it, and 'headish original' undoes it.
    """
    with settings.open() as store:
        before = store.tokens(headish)
        turn = store.compact(headish, ptr=ptr, warn=lambda note: say(f"note: {note}"), **sizes)
        if turn is None:
            if as_json:
                print_json(None)
            say(f"Nothing to do: about {before.tokens:,} tokens, and nothing between the first exchange and the last.")
            return
        tell_turn(store, turn, as_json)
        say(f"{describe_turn(turn)}: about {before.tokens:,} tokens before, {store.tokens(turn.id).tokens:,} now.")


@click.command("tokens")
@headish_argument
@click.option("--by", type=click.Choice(["turn"]), help="List what each message weighs.")
@click.option("-p", "--ptr", metavar="PTR", help="For the model of this provider pointer, instead of the thread's.")
@click.option("--model", metavar="NAME", help="For this model.")
@settings_and_json
def tokens_command(
    settings: GlobalOptions, headish: str, by: str | None, ptr: str | None, model: str | None, as_json: bool
) -> None:
    """Count the tokens of a request for a HEADISH, and say how far the count may be off."""
    with settings.open() as store:
        counted = store.tokens(headish, ptr=ptr, model=model)
        if by is not None and not as_json:
            _list(store, counted)
    if not as_json:
        click.echo(_sentence(counted))
    elif by is not None:
        print_json_lines(counted.turns)
    else:
        # The turns may be thousands; --by turn prints them.
        print_json({key: value for key, value in counted.to_dict().items() if key != "turns"})


def _sentence(counted: Tokens) -> str:
    window = counted.context_window
    of = f" of {window:,} ({counted.tokens / window:.0%})" if window else ""
    off = f", ± {counted.error:.0%}" if counted.error else ""
    return f"{counted.tokens:,} tokens{of}{off}: {SOURCES[counted.source]}"


def _list(store: Store, counted: Tokens) -> None:
    """Print a line for each message, in the order in which a model sees them."""
    short = store.abbreviate(each.turn for each in counted.turns if each.turn is not None)
    room = len(f"{max((each.tokens for each in counted.turns), default=0):,}")
    for each in counted.turns:
        handle = "" if each.turn is None else short[each.turn]
        before = f"{each.tokens:>{room},} {click.style(handle, fg='yellow')} {role_word(each.role)} "
        text = store.text(each.turn) if each.turn is not None else ""
        click.echo(lay_out([before], " ".join(text.split())).rstrip())
    if counted.tools:
        click.echo(f"{counted.tools:>{room},} tools")


SOURCES = {
    "count": "counted",
    "usage": "by what the provider counted for replies of this thread",
    "ratio": "guessed by bytes, corrected by other replies of this space",
    "bytes": "guessed by bytes: no reply of this space says how many tokens it had",
}
"""How a number of tokens was obtained, in words."""
