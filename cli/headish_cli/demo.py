"""``demo``: a tour of what headish is for, in a store of its own. It prints each command before its output.

The tour runs each command line through the same code as a person's. Where a person would copy a handle from the drawing
above, the tour looks it up.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import click

from headish_cli.options import PLACE

FILE = "conversations.jsonl"
TOUR: tuple[tuple[str, str], ...] = (
    ("Conversations that fork, from a file: every message becomes a turn, every reply a branch.",
     f"import {FILE} --from oasst"),
    ("Importing it again stores nothing: turns are known by what they say.", f"import {FILE}"),
    ("Each conversation has a name.", "bookmark list"),
    ("One of them, with its branches.", "tree greenhouse"),
    ("Name the end of a branch, by its handle.", "bookmark set plan <greenhouse/anchors>"),
    ("Continue that branch. The name moves along, and --set applies to every turn that follows.",
     "add 'Two sentences, please: what do I do first?' -c plan --set params.max_tokens=300"),
    ("", "add 'Mark out the plot, and look where the shadow falls at noon. Then set the screws.'"
         " -c plan --role assistant"),
    ("Fork an earlier turn. The name stays with its branch.", "add 'And with half the money?' -c plan~2"),
    ("", "bookmark set cheap @"),
    ("", "add 'A cold frame from old windows, strapped down the same way; it can become the lean-to later.'"
         " -c cheap --role assistant --cache"),
    ("Merge the two: a turn may continue several.",
     "add 'Make one plan of both: what this year, what next?' -c plan -c cheap -b merged"),
    ("All of it again: the branches, their names, and where we are.", "tree merged"),
    ("The thread that leads to the merge, newest first, each turn once.", "log merged --graph"),
    ("The same as a context window: messages, and the options they inherit.", "resolve merged"),
    ("As a transcript, OpenChatML 2.2.", "export merged --to openchatml"),
    ("And as the request that asks a provider for the next turn.",
     "request merged --to anthropic --model claude-sonnet-4-5"),
    ("The same thread for another provider: what would be repaired, left out or refused.", "lint merged --for openai"),
    ("A bookmark remembers where it was; plan@{1} would name that turn.", "bookmark history plan"),
    ("Every hash, digest, seal and link, derived again.", "verify"),
)  # fmt: skip
"""Each step: a sentence, and a command. An empty sentence continues the step before. ``<…>`` stands for the handle of
the imported message with that id."""


@click.command("demo")
@click.option("--keep", type=PLACE, metavar="PATH", help="Keep the store of the tour here.")
def demo_command(keep: str | None) -> None:
    """Take a tour: import, branch, merge, resolve, export, verify."""
    # Not `exists`, which is false for a dangling link.
    if keep and os.path.lexists(keep):
        raise click.UsageError(f"{keep} exists already; the tour begins with an empty store")
    with tempfile.TemporaryDirectory() as folder, as_file(files("headish_cli") / FILE) as conversations:
        target = keep or str(Path(folder) / "tour.db")
        for sentence, command in TOUR:
            _take_step(target, sentence, _with_ids(target, command), conversations)
    if keep:
        click.echo(f"\nThe store of this tour: headish --db {shlex.quote(keep)} log merged")


def _with_ids(target: str, command: str) -> str:
    return re.sub("<(.+?)>", lambda message: _prefix_of(target, message.group(1)), command)


def _prefix_of(target: str, message_id: str) -> str:
    """The handle of the turn that an imported message became, as the tree shows it."""
    from headish import Store

    with Store.open(target, create=False) as store:
        turn = next(each for each in store.turns() if each.meta.app.get("oasst", {}).get("message_id") == message_id)
        return store.abbreviate([turn.id])[turn.id]


def _take_step(target: str, sentence: str, command: str, conversations: Path) -> None:
    from headish_cli.main import main

    if sentence:
        click.echo("\n" + click.style(f"# {sentence}", fg="cyan"))
    click.echo(click.style(f"$ headish {command}", bold=True))
    sys.stdout.flush()
    words = [str(conversations) if word == FILE else word for word in shlex.split(command)]
    # Both streams are flushed after each step, so that what a command says on stderr appears in its place.
    main.main(["--db", target, *words], prog_name="headish", standalone_mode=False)
    sys.stdout.flush()
    sys.stderr.flush()
