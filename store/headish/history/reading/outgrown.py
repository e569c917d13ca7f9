"""Halves of answers: turns that an import stored while they were written, and met again when there was more of them.

The longer version supersedes the half and says ``grew`` under its seal (rule R40, grown versions). The half is no
branch: trees, lists of heads, searches and siblings leave it out, and its tokens do not count. Where somebody continued
it, it stays to be seen, as a part of that thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headish.database.query import Connection, Query
from headish.history.reading.decode import read_mapping
from headish.rows.keys import superseding_some
from headish.rows.threads.walks import Walked
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId, as_turn_id

_MARK = b'"grew"'


def outgrown_by(turn: StoredTurn | Walked) -> TurnId | None:
    """The half that a turn takes the place of; None where it is no longer version of one."""
    # Nearly no turn is: it is not decoded for that.
    if turn.system is None or _MARK not in turn.system:
        return None
    system = read_mapping(turn, "system")
    named = system.get("supersedes")
    return as_turn_id(named) if system.get("grew") is True and isinstance(named, str) else None


def outgrown_among(connection: Connection, space: int, ids: Iterable[TurnId]) -> set[TurnId]:
    """Which of some turns are halves. Cost: one statement for each ``LOOKED_UP`` turns."""
    newer = superseding_some(connection, space, ids)
    return {half for each in newer if (half := outgrown_by(each)) is not None}


REPLACING = Query(
    "what turns that supersede others keep beside what they say",
    """
    SELECT supersedes, system FROM turn WHERE space = :space AND supersedes IS NOT NULL AND system IS NOT NULL
    """,
)


def outgrown_in_space(connection: Connection, space: int) -> set[TurnId]:
    """All halves of a space. Cost: one statement, over the turns that supersede others."""
    return {row[0] for row in connection.rows(REPLACING, space=space) if _MARK in bytes(row[1])}


def hidden_in(
    turns: Sequence[TurnId], continues: Mapping[TurnId, Sequence[TurnId]], halves: set[TurnId]
) -> set[TurnId]:
    """The halves that nothing else continues than halves; ``turns`` in commit order."""
    seen: set[TurnId] = set()
    hidden: set[TurnId] = set()
    for each in reversed(turns):
        if each in halves and each not in seen:
            hidden.add(each)
        else:
            seen.update(continues[each])
    return hidden
