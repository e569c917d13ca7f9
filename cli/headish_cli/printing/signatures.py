"""Signatures of turns, in lines: who signed, since when, and what is only said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headish_cli.printing.output import one_line

if TYPE_CHECKING:
    from headish import Turn
    from headish.values.results.reports import JudgedSignature

COLOURS = {"good": "green", "unknown": "yellow", "bad": "red"}


def signature_line(judged: JudgedSignature) -> str:
    """A signature in a line. Names come from a list that somebody may have been given: nothing in them acts."""
    return click.style(one_line(judged.words, None), fg=COLOURS[judged.verdict])


def signature_lines(turn: Turn, signatures: Sequence[JudgedSignature]) -> list[str]:
    """The signatures of a turn in lines; of one that has none, the author that it claims."""
    if signatures:
        return [signature_line(each) for each in signatures]
    author = turn.meta.system.get("author")
    claim = "" if author is None else f"; it says that {one_line(str(author), 200)} wrote it"
    return [click.style(f"unsigned{claim}", dim=True)]
