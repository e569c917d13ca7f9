"""The role and first words of a turn for a line of a list. An overlay often has no words, so its action is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headish_cli.printing.output import preview, role_word

if TYPE_CHECKING:
    from headish.values.blocks import ContentBlock
    from headish.values.turns import Meta, TreeTurn


def who(turn: Meta | TreeTurn) -> str:
    """The role of a turn, or ``overlay`` for one, padded to its column."""
    return role_word("overlay" if turn.attributes.overlay else turn.role)


def words(turn: Meta | TreeTurn, content: Sequence[ContentBlock]) -> str:
    """What a turn says, on one line; for an overlay, first what it does."""
    overlay, text = turn.attributes.overlay, preview(content)
    if overlay is None:
        return text
    from headish.history.windows.states import describe

    return f"{describe(overlay)}: {text}" if text else describe(overlay)
