"""Signatures of turns as lines: who signed each turn and, for an unsigned one, who it claims to be from."""

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
    """A signature on one line. Its names may come from a stranger's list of signers, so controls are escaped."""
    return click.style(one_line(judged.words, None), fg=COLOURS[judged.verdict])


def signature_lines(turn: Turn, signatures: Sequence[JudgedSignature]) -> list[str]:
    """The signatures of a turn, one per line; for a turn without any, the author that it claims."""
    if signatures:
        return [signature_line(each) for each in signatures]
    author = turn.meta.system.get("author")
    claim = "" if author is None else f"; it says that {one_line(str(author), 200)} wrote it"
    return [click.style(f"unsigned{claim}", dim=True)]
