"""Print an answer as it arrives: text on stdout, reasoning and calls on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from headish.values.checks.controls import escape_controls
from headish_cli.printing.output import one_line, say, write

if TYPE_CHECKING:
    from headish.providers import Delta
    from headish.store.answers.answer import Answer
    from headish.values.blocks import ToolUse

ARGUMENTS_SHOWN = 2_000
NO_TERMINAL = "Not run: no terminal to ask for approval. Use --yes to run every call."
"""The person reads this, and so does the model, as the result of its call."""


class AnswerPrinter:
    """Prints deltas. With ``quiet`` it prints none: the caller prints the whole turn as JSON."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._before: tuple[str, int | None] | None = None
        self._in_line = False
        """Whether the last printed text has no line end yet."""
        self._thinks = sys.stderr.isatty()
        """Whether to print reasoning: only at a terminal, because it is for people."""

    def show(self, delta: Delta) -> None:
        """Print a delta."""
        if self._quiet:
            return
        here = (delta.type, delta.index)
        if delta.type == "text":
            self._begin(here)
            # Before the text is written: Ctrl-C may come right after, and `end` must know.
            self._in_line = not delta.content.endswith("\n") if delta.content else self._in_line
            write(delta.content)
        elif self._thinks and delta.type == "thinking":
            self._begin(here)
            click.echo(click.style(escape_controls(delta.content), dim=True), nl=False, err=True)
        elif delta.name is not None:
            self._begin(here)
            click.echo(click.style(f"[{one_line(delta.name, 100)}]", fg="yellow"), err=True)
        # At each piece: in a pipe, Python would hold the text back until the buffer is full.
        sys.stdout.flush()

    def end(self) -> None:
        """End the last line."""
        if self._before is not None and self._before[0] == "text":
            click.echo(nl=self._in_line)
        elif self._before is not None and self._before[0] == "thinking":
            click.echo(err=True)

    def _begin(self, here: tuple[str, int | None]) -> None:
        """Begin a block on a line of its own."""
        if self._before is not None and self._before != here and self._before[0] in ("text", "thinking"):
            click.echo(err=self._before[0] == "thinking")
        self._before = here


def show_answer(answer: Answer, *, quiet: bool = False, advice: str = "") -> bool:
    """Print an answer as it arrives. Return whether Ctrl-C ended it.

    What arrived before Ctrl-C is stored; ``advice`` tells the person what to do next.
    """
    printer, stopped = AnswerPrinter(quiet=quiet), False
    try:
        for delta in answer:
            printer.show(delta)
        printer.end()
    except KeyboardInterrupt:
        stopped = True
        printer.end()
        say(f"Stopped; what arrived is kept.{advice}")
    except BaseException:
        # Store what arrived before the error, such as a closed pipe.
        answer.finish()
        raise
    return stopped


def describe_call(call: ToolUse) -> str:
    """A tool call on one line: the tool and its arguments."""
    import msgspec

    arguments = call.raw if call.raw is not None else msgspec.json.encode(call.input).decode()
    return one_line(f"{call.name} {arguments}", ARGUMENTS_SHOWN)


def announce_call(call: ToolUse) -> bool:
    """Print that a call runs, and approve it."""
    say(f"running {describe_call(call)}")
    return True


def approve_call(call: ToolUse) -> bool | str:
    """Ask at the terminal whether a call may run. Without a terminal, return the reason why it does not."""
    if not sys.stdin.isatty():
        say(f"{NO_TERMINAL} The call was {describe_call(call)}")
        return NO_TERMINAL
    try:
        return click.confirm(f"run {describe_call(call)}?", err=True)
    except click.Abort:
        raise KeyboardInterrupt from None  # Ctrl-C or Ctrl-D at the question ends the command, as anywhere else
