"""``demo``: a tour of the main job, each command printed before its output, in a store of its own.

The commands are run as the person would type them, by the same code; the tour only types.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import click

TOUR: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Conversations that fork, from a file. Every message becomes a turn, every reply a branch.",
        ("import", "{conversations}", "--from", "oasst"),
    ),
    ("What is there now: a name for each conversation.", ("bookmark", "list")),
    ("One of them, with all its branches.", ("tree", "greenhouse")),
    (
        "Continue a branch: two turns, from the newest message of the first conversation's first branch.",
        ("bookmark", "set", "plan", "greenhouse"),
    ),
    (
        "Options are handed down from the turn that sets them.",
        (
            "add",
            "Answer in two sentences, please. What is the first thing to do?",
            "-c",
            "plan",
            "--set",
            "params.temperature=0.2",
            "--search",
        ),
    ),
    (
        "",
        ("add", "Mark out the plot and check where the shadow falls in December.", "-c", "plan", "--role", "assistant"),
    ),
    (
        "Fork an earlier turn. The bookmark stays with its branch; the new one gets a name of its own.",
        ("add", "And with half the money?", "-c", "plan~1", "-b", "cheap"),
    ),
    (
        "",
        (
            "add",
            "Then begin with a cold frame from old windows; it grows into a lean-to later.",
            "-c",
            "cheap",
            "--role",
            "assistant",
        ),
    ),
    (
        "Merge the two: the turn continues both.",
        ("add", "Make one plan of both: what first, what later?", "-c", "plan", "-c", "cheap", "-b", "merged"),
    ),
    ("The thread that leads there, each turn once.", ("log", "merged", "--graph")),
    ("The same as a context window: messages and the options they inherit.", ("resolve", "merged")),
    ("As a transcript, OpenChatML 2.2.", ("export", "merged", "--to", "openchatml")),
    ("And as the request that asks a provider to go on.", ("request", "merged", "--to", "anthropic")),
    ("A bookmark remembers where it was.", ("bookmark", "history", "plan")),
    ("Every hash, digest, seal and link, derived again.", ("verify",)),
)
"""Each step: a sentence, and the command. An empty sentence goes on with the one before."""


@click.command("demo")
@click.option("--keep", type=click.Path(), metavar="PATH", help="Keep the store of the tour here.")
def demo_command(keep: str | None) -> None:
    """Take a tour: import, branch, merge, resolve, export, verify."""
    with tempfile.TemporaryDirectory() as folder, as_file(_conversations()) as conversations:
        target = keep or str(Path(folder) / "tour.db")
        for sentence, words in TOUR:
            _take_step(target, sentence, [word.format(conversations=conversations) for word in words], words)
    if keep:
        click.echo(f"\nThe store of this tour: headish --db {keep} log")


def _conversations() -> Path:
    return files("headish_cli") / "conversations.jsonl"  # type: ignore[return-value]


def _take_step(target: str, sentence: str, words: list[str], shown: tuple[str, ...]) -> None:
    from headish_cli.main import main

    if sentence:
        click.echo()
        click.echo(click.style(f"# {sentence}", dim=True))
    typed = " ".join(_quoted(word.format(conversations="conversations.jsonl")) for word in shown)
    click.echo(click.style("$ headish " + typed, bold=True))
    sys.stdout.flush()
    # What a command says on stderr belongs into the tour, in its place.
    main.main(["--db", target, *words], prog_name="headish", standalone_mode=False)
    sys.stdout.flush()
    sys.stderr.flush()


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)
